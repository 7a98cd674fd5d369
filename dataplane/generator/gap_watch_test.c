#include "gap_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_LATEST = 8, GAP_TICKS = 100 };

static struct gap_watch make(void)
{
	const struct gap_log_config config = {.threshold_ticks = 50, .per_packet_ticks = 10};
	struct gap_watch watch;

	assert_int_equal(gap_watch_create(&watch, &config, N_LATEST), 0);
	return watch;
}

static uint64_t start_of(uint64_t gap)
{
	return gap * 1000;
}

// From start_of(i) on the loop stands for GAP_TICKS; between gaps it does well.
static void add_gaps(struct gap_watch *watch, uint64_t from, uint64_t until)
{
	for (uint64_t i = from; i < until; i++) {
		watch->checkpoint_tsc = start_of(i);
		gap_watch_check(watch, start_of(i) + GAP_TICKS);
	}
}

static void test_nothing_is_a_gap_before_the_start(void **state)
{
	struct gap_watch watch = make();

	watch.n_packets = 3;
	gap_watch_check(&watch, 1000000);
	assert_int_equal(watch.log.n, 0);
	assert_false(gap_watch_since(&watch, 0));
	watch.n_packets = 3;
	gap_watch_start(&watch, 2000000);
	assert_int_equal(watch.log.work_packets, 0);
	assert_int_equal(watch.log.work_ticks, 0);
	gap_watch_check(&watch, 2000051);

	assert_int_equal(watch.log.n, 1);
	assert_int_equal(watch.log.total_ticks, 51);
	assert_true(gap_watch_since(&watch, 2000050));
	assert_false(gap_watch_since(&watch, 2000051));
	gap_watch_destroy(&watch);
}

static void test_the_longest_stretch_that_was_granted_is_known(void **state)
{
	struct gap_watch watch = make();

	watch.n_packets = 3;
	gap_watch_check(&watch, 1000);
	gap_watch_start(&watch, 2000);
	assert_int_equal(watch.longest_granted_ticks, 0);
	watch.n_packets = 2;
	gap_watch_check(&watch, 2068);
	gap_watch_check(&watch, 2100);
	// A gap is void: nothing hides in it.
	gap_watch_check(&watch, 2200);

	assert_int_equal(watch.log.n, 1);
	assert_int_equal(watch.longest_granted_ticks, 68);
	gap_watch_destroy(&watch);
}

static void test_a_time_overlaps_what_it_touches(void **state)
{
	struct gap_watch watch = make();

	assert_false(gap_watch_overlaps(&watch, 0, UINT64_MAX));
	gap_watch_start(&watch, 0);
	add_gaps(&watch, 1, 4);

	assert_true(gap_watch_overlaps(&watch, 0, start_of(1) + 1));
	assert_false(gap_watch_overlaps(&watch, 0, start_of(1)));
	assert_true(gap_watch_overlaps(&watch, start_of(2) + 99, start_of(2) + 500));
	assert_false(gap_watch_overlaps(&watch, start_of(2) + 100, start_of(3)));
	assert_true(gap_watch_overlaps(&watch, start_of(2) + 100, start_of(3) + 1));
	assert_false(gap_watch_overlaps(&watch, start_of(3) + 100, UINT64_MAX));
	gap_watch_destroy(&watch);
}

static void test_the_latest_gaps_are_known_however_many_there_were(void **state)
{
	struct gap_watch watch = make();
	uint64_t n = 3 * N_LATEST + 5;

	gap_watch_start(&watch, 0);
	add_gaps(&watch, 0, n);

	for (uint64_t gap = n - N_LATEST; gap < n; gap++) {
		uint64_t end = start_of(gap) + GAP_TICKS;
		assert_true(gap_watch_overlaps(&watch, end - 1, end + 500));
		assert_false(gap_watch_overlaps(&watch, end, end + 500));
	}
	gap_watch_destroy(&watch);
}

static void test_a_time_that_reaches_back_to_forgotten_gaps_has_one(void **state)
{
	struct gap_watch watch = make();

	gap_watch_start(&watch, 0);
	add_gaps(&watch, 0, N_LATEST);
	assert_false(gap_watch_overlaps(&watch, start_of(0) + GAP_TICKS, start_of(1)));
	add_gaps(&watch, N_LATEST, N_LATEST + 1); // gap 1 is now the oldest known

	assert_true(gap_watch_overlaps(&watch, start_of(0) + GAP_TICKS, start_of(1)));
	assert_true(gap_watch_overlaps(&watch, start_of(1) - 1, start_of(1)));
	assert_true(gap_watch_overlaps(&watch, start_of(1), start_of(1) + 1));
	assert_false(gap_watch_overlaps(&watch, start_of(1) + GAP_TICKS, start_of(2)));
	gap_watch_destroy(&watch);
}

static void test_work_on_many_packets_is_no_gap(void **state)
{
	struct gap_watch watch = make();

	gap_watch_start(&watch, 0);
	watch.n_packets = 32;
	gap_watch_check(&watch, 50 + 320);
	assert_int_equal(watch.log.n, 0);
	gap_watch_check(&watch, 50 + 320 + 51);

	assert_int_equal(watch.log.n, 1);
	assert_int_equal(watch.log.max_ticks, 51);
	gap_watch_destroy(&watch);
}

static void test_a_ring_is_full_by_its_size(void **state)
{
	// Sizes, and how many packets of one go say that it was full; bursts are of 64.
	static const uint32_t rings[][2] = {
		{1024, 960}, {256, 192}, {128, 64}, {96, 64}, {64, 64}, {32, 32}, {2, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		struct gap_watch watch = make();
		gap_watch_start(&watch, 1);
		add_gaps(&watch, 1, 2);
		gap_watch_waited(&watch, 1024, start_of(1), start_of(2));
		assert_int_equal(watch.full_ring_tsc, 0); // no ring is known
		gap_watch_set_ring(&watch, rings[i][0], 64);
		gap_watch_waited(&watch, rings[i][1] - 1, start_of(1), start_of(2));
		assert_int_equal(watch.full_ring_tsc, 0);
		gap_watch_waited(&watch, rings[i][1], start_of(1), start_of(2));
		assert_int_equal(watch.full_ring_tsc, start_of(2));
		gap_watch_destroy(&watch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_a_gap_before_the_start),
		cmocka_unit_test(test_the_longest_stretch_that_was_granted_is_known),
		cmocka_unit_test(test_a_time_overlaps_what_it_touches),
		cmocka_unit_test(test_the_latest_gaps_are_known_however_many_there_were),
		cmocka_unit_test(test_a_time_that_reaches_back_to_forgotten_gaps_has_one),
		cmocka_unit_test(test_work_on_many_packets_is_no_gap),
		cmocka_unit_test(test_a_ring_is_full_by_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
