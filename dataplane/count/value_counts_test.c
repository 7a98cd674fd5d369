// Every value comes back with its count, in order: itself as long as there are few, then the edge
// of its bucket.

#include "count_test_env.h"
#include "value_counts.h"

#include <math.h>

struct given {
	struct value_count *counts;
	size_t n, room;
};

static int take(void *context, const struct value_count *count)
{
	struct given *given = context;

	if (given->n == given->room) {
		given->room = given->room == 0 ? 1024 : 2 * given->room;
		given->counts = reallocarray(given->counts, given->room, sizeof(*count));
	}
	given->counts[given->n++] = *count;
	return 0;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

// Values of a bucket are its edge and up to 2^-14 beyond; those near zero are alone in theirs.
static void check_bucket(int64_t edge, int64_t value)
{
	uint64_t beyond = (uint64_t)value - (uint64_t)edge;

	assert_int_equal(value_counts_edge(value), edge);
	assert_true(beyond < value_counts_width(edge));
	assert_true((double)beyond <= fabs((double)value) / (1 << 14));
	assert_true(value > 1 << 18 || value < -(1 << 18) || beyond == 0);
}

// Feed n values made by make, and hold what comes back against the sorted values.
static void check(size_t n, bool is_coarse, int64_t (*make)(size_t i))
{
	struct value_counts counts;
	struct given given = {0};
	int64_t *values = malloc((n + 1) * sizeof(*values));
	size_t at = 0;

	assert_int_equal(value_counts_init(&counts), 0);
	for (size_t i = 0; i < n; i++) {
		values[i] = make(i);
		value_counts_add(&counts, values[i]);
	}
	assert_int_equal(value_counts_end(&counts), 0);
	assert_int_equal(counts.is_coarse, is_coarse);
	assert_int_equal(value_counts_each(&counts, take, &given), 0);
	qsort(values, n, sizeof(*values), compare);
	for (size_t i = 0; i < given.n; i++) {
		for (uint64_t k = 0; k < given.counts[i].n; k++, at++)
			if (is_coarse)
				check_bucket(given.counts[i].value, values[at]);
			else
				assert_int_equal(values[at], given.counts[i].value);
		assert_true(i == 0 || given.counts[i].value > given.counts[i - 1].value);
	}
	assert_int_equal(at, n);
	value_counts_fini(&counts);
	free(given.counts);
	free(values);
}

static int64_t near(size_t i)
{
	return (int64_t)(i * 2654435761u % 5000) - 700;
}

static int64_t edges(size_t i)
{
	static const int64_t values[] = {VALUE_DENSE_LEAST - 1, VALUE_DENSE_LEAST, -1, 0, 1,
		VALUE_DENSE_END - 1, VALUE_DENSE_END, INT64_MIN, INT64_MAX};

	return values[i % (sizeof(values) / sizeof(values[0]))];
}

// All distinct, on both sides of zero, up to seconds.
static int64_t far(size_t i)
{
	return (int64_t)(i * 8191) * (i & 1 ? -1 : 1);
}

// From one end of 64 bits to the other, the powers of two and their neighbours among them.
static int64_t any(size_t i)
{
	uint64_t power = UINT64_C(1) << (i & 63);

	return (int64_t)(i < 256 ? power + i / 64 - 2 : i * UINT64_C(0x9e3779b97f4a7c15));
}

static int64_t successive(size_t i)
{
	return (int64_t)i + VALUE_DENSE_LEAST;
}

static void test_few_values_are_counted_exactly(void **state)
{
	check(0, false, near);
	check(100000, false, near);
	check(100000, false, edges);
	check(VALUE_COUNTS_MOST, false, far);
	check(VALUE_COUNTS_MOST, false, successive);
}

static void test_too_many_values_are_counted_by_bucket(void **state)
{
	check(2 * VALUE_COUNTS_MOST, true, far);
	check(2 * VALUE_COUNTS_MOST, true, any);
	check(VALUE_COUNTS_MOST + 1, true, successive);
}

static void test_more_of_a_value_than_32_bits_hold(void **state)
{
	struct value_counts counts;
	struct given given = {0};

	assert_int_equal(value_counts_init(&counts), 0);
	for (int i = 5; i < 8; i++)
		counts.dense[i - VALUE_DENSE_LEAST] = UINT32_MAX;
	value_counts_add(&counts, 5);
	value_counts_add(&counts, 7);
	value_counts_add(&counts, 7);
	assert_int_equal(value_counts_end(&counts), 0);
	assert_int_equal(value_counts_each(&counts, take, &given), 0);
	assert_int_equal(given.n, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(given.counts[i].value, 5 + i);
	assert_int_equal(given.counts[0].n, UINT64_C(1) << 32);
	assert_int_equal(given.counts[1].n, UINT32_MAX);
	assert_int_equal(given.counts[2].n, (UINT64_C(1) << 32) + 1);
	value_counts_fini(&counts);
	free(given.counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_values_are_counted_exactly),
		cmocka_unit_test(test_too_many_values_are_counted_by_bucket),
		cmocka_unit_test(test_more_of_a_value_than_32_bits_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
