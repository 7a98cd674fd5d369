#include "gap_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_SPANS = 8, GAP_TICKS = 100 };

static struct gap_watch make(void)
{
	const struct gap_log_config config = {.threshold_ticks = 50, .per_packet_ticks = 10};
	struct gap_watch watch;

	assert_int_equal(gap_watch_create(&watch, &config, N_SPANS), 0);
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

// From start_of(i) on the loop stood, and the ring, with what was due since, was full behind it.
static void add_full(struct gap_watch *watch, uint64_t from, uint64_t until)
{
	for (uint64_t i = from; i < until; i++)
		gap_watch_remember_full(watch, start_of(i), start_of(i) + GAP_TICKS);
}

static void test_a_ring_was_full_from_the_oldest_in_it_until_it_was_empty(void **state)
{
	struct gap_watch watch = make();

	assert_false(gap_watch_was_full(&watch, 0));
	assert_false(gap_watch_was_full(&watch, UINT64_MAX));
	gap_watch_start(&watch, 0);
	add_full(&watch, 1, 4);

	assert_false(gap_watch_was_full(&watch, start_of(1) - 1));
	assert_true(gap_watch_was_full(&watch, start_of(1)));
	assert_true(gap_watch_was_full(&watch, start_of(2) + GAP_TICKS));
	assert_false(gap_watch_was_full(&watch, start_of(2) + GAP_TICKS + 1));
	assert_false(gap_watch_was_full(&watch, start_of(3) - 1));
	assert_false(gap_watch_was_full(&watch, start_of(3) + GAP_TICKS + 1));
	assert_int_equal(watch.full_ring_tsc, start_of(3) + GAP_TICKS);
	gap_watch_destroy(&watch);
}

static void test_a_full_ring_may_reach_back_beyond_others(void **state)
{
	struct gap_watch watch = make();

	gap_watch_start(&watch, 0);
	add_full(&watch, 1, 4);
	gap_watch_remember_full(&watch, start_of(2) + 50, start_of(4)); // over the third

	assert_true(gap_watch_was_full(&watch, start_of(2)));
	assert_true(gap_watch_was_full(&watch, start_of(2) + GAP_TICKS + 1));
	assert_true(gap_watch_was_full(&watch, start_of(4)));
	assert_false(gap_watch_was_full(&watch, start_of(2) - 1));
	assert_false(gap_watch_was_full(&watch, start_of(4) + 1));
	gap_watch_destroy(&watch);
}

static void test_of_a_time_before_those_known_a_ring_was_full(void **state)
{
	struct gap_watch watch = make();

	gap_watch_start(&watch, 0);
	add_full(&watch, 0, N_SPANS);
	assert_false(gap_watch_was_full(&watch, start_of(0) + GAP_TICKS + 1));
	add_full(&watch, N_SPANS, 3 * N_SPANS + 5); // the last eight are known

	assert_true(gap_watch_was_full(&watch, start_of(2 * N_SPANS + 5) - 1));
	for (uint64_t i = 2 * N_SPANS + 5; i < 3 * N_SPANS + 5; i++) {
		assert_true(gap_watch_was_full(&watch, start_of(i) + GAP_TICKS));
		assert_false(gap_watch_was_full(&watch, start_of(i) + GAP_TICKS + 1));
	}
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
		struct waiting waiting = {.oldest_tsc = start_of(1)};
		gap_watch_start(&watch, 1);
		add_gaps(&watch, 1, 2);
		gap_watch_waited(&watch, &waiting, 1024, start_of(1), start_of(2));
		assert_int_equal(watch.full_ring_tsc, 0); // no ring is known
		gap_watch_set_ring(&watch, rings[i][0], 64, 0);
		waiting.n = 0;
		gap_watch_waited(&watch, &waiting, rings[i][1] - 1, start_of(1), start_of(2));
		assert_int_equal(watch.full_ring_tsc, 0);
		gap_watch_waited(&watch, &waiting, 1, start_of(1), start_of(2));
		assert_int_equal(watch.full_ring_tsc, start_of(2));
		assert_true(gap_watch_was_full(&watch, start_of(1)));
		gap_watch_destroy(&watch);
	}
}

static void test_what_came_in_one_go_filled_no_ring_but_behind_a_gap_that_long(void **state)
{
	struct gap_watch watch = make();
	struct waiting waiting = none_waiting;

	gap_watch_start(&watch, 1);
	gap_watch_set_ring(&watch, 256, 64, 1); // 192 ticks fill it
	add_gaps(&watch, 1, 2);
	gap_watch_waited(&watch, &waiting, 500, start_of(1), start_of(2));
	assert_int_equal(waiting.n, 0); // a gap of 100 ticks
	gap_watch_check(&watch, start_of(2) + 192);
	gap_watch_waited(&watch, &waiting, 191, start_of(1), start_of(3));
	assert_false(gap_watch_was_full(&watch, UINT64_MAX)); // the 500 before do not count
	assert_int_equal(watch.full_ring_tsc, 0);
	gap_watch_waited(&watch, &waiting, 500, start_of(2) + 192, start_of(3)); // it was over
	assert_int_equal(watch.full_ring_tsc, 0);
	gap_watch_waited(&watch, &waiting, 1, start_of(1), start_of(3));

	assert_int_equal(watch.full_ring_tsc, start_of(3));
	gap_watch_destroy(&watch);
}

static void test_a_full_ring_without_a_packet_of_ours_held_what_was_sent_since(void **state)
{
	struct gap_watch watch = make();
	struct waiting waiting = none_waiting;

	gap_watch_start(&watch, 1);
	gap_watch_set_ring(&watch, 256, 64, 0);
	add_gaps(&watch, 1, 2);
	for (uint64_t i = 0; i < 10; i++)
		gap_watch_waited(&watch, &waiting, 192, start_of(1), start_of(2) + i);

	assert_int_equal(watch.n_spans, 1);
	assert_false(gap_watch_was_full(&watch, start_of(1) - 1));
	assert_true(gap_watch_was_full(&watch, start_of(1)));
	assert_true(gap_watch_was_full(&watch, start_of(2) + 9));
	assert_false(gap_watch_was_full(&watch, start_of(2) + 10));
	gap_watch_destroy(&watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_a_gap_before_the_start),
		cmocka_unit_test(test_the_longest_stretch_that_was_granted_is_known),
		cmocka_unit_test(test_a_ring_was_full_from_the_oldest_in_it_until_it_was_empty),
		cmocka_unit_test(test_a_full_ring_may_reach_back_beyond_others),
		cmocka_unit_test(test_of_a_time_before_those_known_a_ring_was_full),
		cmocka_unit_test(test_work_on_many_packets_is_no_gap),
		cmocka_unit_test(test_a_ring_is_full_by_its_size),
		cmocka_unit_test(
			test_what_came_in_one_go_filled_no_ring_but_behind_a_gap_that_long),
		cmocka_unit_test(
			test_a_full_ring_without_a_packet_of_ours_held_what_was_sent_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
