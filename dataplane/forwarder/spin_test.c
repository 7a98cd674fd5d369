// What is chosen to look for, by gaps that are known.

#include "spin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SLEEP = 50000 };

static struct spin spin;

static void set_up(void)
{
	spin_init(&spin, SLEEP);
}

static void note(uint64_t gap, int n)
{
	for (int i = 0; i < n; i++)
		spin_note(&spin, gap);
}

static void test_without_gaps_it_looks_as_long_as_a_sleep_costs(void **state)
{
	set_up();
	note(1000000, SPIN_WINDOW - 1);

	assert_int_equal(spin.ticks, SLEEP);
}

static void test_short_gaps_are_looked_out(void **state)
{
	set_up();
	note(10000, SPIN_WINDOW);

	assert_in_range(spin.ticks, 10000, SLEEP);
}

static void test_long_gaps_are_slept_through_from_their_start(void **state)
{
	static const uint64_t gaps[] = {200000, 1000000, UINT64_MAX};

	for (int i = 0; i < 3; i++) {
		set_up();
		note(gaps[i], SPIN_WINDOW);
		assert_int_equal(spin.ticks, 0);
	}
}

// Of a burst, the next packet is worth looking for; what comes behind the last one is not.
static void test_bursts_are_looked_out_and_the_pauses_slept_through(void **state)
{
	set_up();
	for (int i = 0; i < SPIN_WINDOW / 16; i++) {
		note(700, 15);
		note(3000000, 1);
	}

	assert_in_range(spin.ticks, 700, 5000);
}

static void test_it_follows_gaps_that_change(void **state)
{
	set_up();
	note(1000000, 10 * SPIN_WINDOW);
	assert_int_equal(spin.ticks, 0);

	note(2000, 3 * SPIN_WINDOW);
	assert_in_range(spin.ticks, 2000, SLEEP);
}

static void test_no_gap_at_all_is_one(void **state)
{
	set_up();
	note(0, SPIN_WINDOW);

	assert_int_equal(spin.ticks, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_gaps_it_looks_as_long_as_a_sleep_costs),
		cmocka_unit_test(test_short_gaps_are_looked_out),
		cmocka_unit_test(test_long_gaps_are_slept_through_from_their_start),
		cmocka_unit_test(test_bursts_are_looked_out_and_the_pauses_slept_through),
		cmocka_unit_test(test_it_follows_gaps_that_change),
		cmocka_unit_test(test_no_gap_at_all_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
