#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "ranges.h"

static const unsigned __int128 top = ~(unsigned __int128)0;

// Small sets beside bitmaps: every operation gives what the bitmap gives.
static void fill(struct ranges *ranges, bool *map, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		unsigned int first = (unsigned int)rand() % 64;
		unsigned int last = first + (unsigned int)rand() % (64 - first);
		if (rand() % 2 == 0)
			last = first;
		assert_int_equal(ranges_add(ranges, first, last), 0);
		for (unsigned int value = first; value <= last; value++)
			map[value] = true;
	}
}

static void assert_is(const struct ranges *ranges, const bool *map)
{
	for (unsigned int value = 0; value < 64; value++)
		assert_int_equal(ranges_has(ranges, value), map[value]);
	for (size_t i = 0; i < ranges->n; i++) {
		assert_true(ranges->items[i].first <= ranges->items[i].last);
		if (i > 0)
			assert_true(ranges->items[i].first - ranges->items[i - 1].last > 1);
	}
}

static void test_sets_are_what_bitmaps_are(void **state)
{
	srand(1);
	for (int round = 0; round < 2000; round++) {
		struct ranges a = {0}, b = {0};
		bool in_a[64] = {false}, in_b[64] = {false}, both[64];
		fill(&a, in_a, (unsigned int)round % 9);
		fill(&b, in_b, (unsigned int)round % 7);
		assert_is(&a, in_a);
		assert_int_equal(ranges_invert(&a, 63), 0);
		for (int i = 0; i < 64; i++)
			in_a[i] = !in_a[i];
		assert_is(&a, in_a);
		assert_int_equal(ranges_intersect(&a, &b), 0);
		for (int i = 0; i < 64; i++)
			both[i] = in_a[i] && in_b[i];
		assert_is(&a, both);
		ranges_clear(&a);
		ranges_clear(&b);
	}
}

static void test_all_128_bits_are_a_range(void **state)
{
	struct ranges ranges = {0};

	assert_int_equal(ranges_add(&ranges, top - 1, top), 0);
	assert_int_equal(ranges_invert(&ranges, top), 0);
	assert_int_equal(ranges.n, 1);
	assert_true(ranges.items[0].first == 0 && ranges.items[0].last == top - 2);
	assert_int_equal(ranges_add(&ranges, top - 1, top), 0);
	assert_int_equal(ranges.n, 1);
	assert_int_equal(ranges_block(0, top, 128), 128);
	assert_int_equal(ranges_invert(&ranges, top), 0);
	assert_int_equal(ranges.n, 0);
	ranges_clear(&ranges);
}

static void test_too_many_ranges_leave_the_set_as_it_was(void **state)
{
	struct ranges ranges = {0};

	for (unsigned int i = 0; i < RANGES_MAX; i++)
		assert_int_equal(ranges_add(&ranges, 2 * i, 2 * i), 0);
	assert_int_equal(ranges_add(&ranges, 2 * RANGES_MAX, 2 * RANGES_MAX), -E2BIG);
	assert_int_equal(ranges.n, RANGES_MAX);
	assert_true(ranges_has(&ranges, 2 * RANGES_MAX - 2));
	ranges_clear(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets_are_what_bitmaps_are),
		cmocka_unit_test(test_all_128_bits_are_a_range),
		cmocka_unit_test(test_too_many_ranges_leave_the_set_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
