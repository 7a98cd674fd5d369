#include "poll_gap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct poll_gap make(size_t capacity)
{
	const struct poll_gap_config config = {.threshold_ticks = 100, .capacity = capacity};
	struct poll_gap poll;

	assert_int_equal(poll_gap_create(&poll, &config), 0);
	return poll;
}

static void every_period_is_counted_and_only_long_ones_are_gaps(void **state)
{
	struct poll_gap poll = make(4);

	poll_gap_account(&poll, 1000, 1020);
	poll_gap_account(&poll, 1020, 1120);
	poll_gap_account(&poll, 1120, 1221);

	assert_int_equal(histogram_total(poll.periods), 3);
	assert_int_equal(poll.gaps.n, 1);
	assert_int_equal(poll.gaps.total_ticks, 101);
	assert_int_equal(poll.gaps.records[0].start_tsc, 1120);
	assert_int_equal(poll.gaps.records[0].end_tsc, 1221);
	assert_int_equal(poll.gaps.records[0].thread, GAP_NOISE);
	poll_gap_destroy(&poll);
}

static void the_worst_period_is_known_with_its_time_though_the_log_is_full(void **state)
{
	struct poll_gap poll = make(1);

	poll_gap_account(&poll, 0, 500);
	poll_gap_account(&poll, 7000, 7900);
	poll_gap_account(&poll, 9000, 9200);

	assert_int_equal(poll.worst_ticks, 900);
	assert_int_equal(poll.worst_start_tsc, 7000);
	assert_int_equal(poll.gaps.n, 3);
	assert_int_equal(poll.gaps.not_logged, 2);
	poll_gap_destroy(&poll);
}

static void a_period_as_long_as_a_threshold_is_not_over_it(void **state)
{
	struct poll_gap poll = make(4);

	poll_gap_account(&poll, 0, 50);
	poll_gap_account(&poll, 0, 51);
	poll_gap_account(&poll, 0, 1 << 30);

	assert_int_equal(poll_gap_count_over(&poll, 0), 3);
	assert_int_equal(poll_gap_count_over(&poll, 50), 2);
	assert_int_equal(poll_gap_count_over(&poll, 51), 1);
	assert_int_equal(poll_gap_count_over(&poll, UINT64_C(1) << 40), 0);
	poll_gap_destroy(&poll);
}

static void polling_leaves_no_time_out(void **state)
{
	struct poll_gap poll = make(1 << 16);
	volatile int stop = 0;
	uint64_t start = clock_tsc();
	struct histogram_bucket bucket;
	uint64_t sum = 0;

	poll_gap_run(&poll, start, start + 20000000, &stop);

	assert_true(poll.first_tsc <= start);
	assert_true(poll.last_tsc >= start + 20000000);
	for (size_t cursor = 0; histogram_next(poll.periods, &cursor, &bucket);)
		sum += bucket.value * bucket.count;
	// Above 2^18 ticks a bucket's lowest value is up to 1/2^14 too small.
	uint64_t polled = poll.last_tsc - poll.first_tsc;
	assert_in_range(sum, polled - (polled >> 14) - 1, polled);
	assert_true(poll.worst_ticks <= polled);
	poll_gap_destroy(&poll);
}

static void who_comes_too_late_was_kept_from_the_core_since_the_start(void **state)
{
	struct poll_gap poll = make(1);
	volatile int stop = 0;
	uint64_t start = clock_tsc() - 1000000;

	poll_gap_run(&poll, start, start + 10, &stop);

	assert_int_equal(poll.first_tsc, start);
	assert_int_equal(histogram_total(poll.periods), 1);
	assert_int_equal(poll.gaps.total_ticks, poll.last_tsc - start);
	assert_true(poll.worst_ticks >= 1000000);
	poll_gap_destroy(&poll);
}

static void polling_that_is_stopped_before_its_start_measures_nothing(void **state)
{
	struct poll_gap poll = make(1);
	volatile int stop = 1;

	poll_gap_run(&poll, UINT64_MAX - 1, UINT64_MAX, &stop);

	assert_int_equal(histogram_total(poll.periods), 0);
	assert_int_equal(poll.first_tsc, 0);
	assert_int_equal(poll.last_tsc, 0);
	poll_gap_destroy(&poll);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_period_is_counted_and_only_long_ones_are_gaps),
		cmocka_unit_test(the_worst_period_is_known_with_its_time_though_the_log_is_full),
		cmocka_unit_test(a_period_as_long_as_a_threshold_is_not_over_it),
		cmocka_unit_test(polling_leaves_no_time_out),
		cmocka_unit_test(who_comes_too_late_was_kept_from_the_core_since_the_start),
		cmocka_unit_test(polling_that_is_stopped_before_its_start_measures_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
