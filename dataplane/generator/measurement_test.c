// What becomes of each packet, without ports: order, loss, duplicates, voids, records.

#include "measurement_test_env.h"

static void test_a_packet_is_timed_and_recorded(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	send(m, 2);
	receive(m, 0, 300);
	receive(m, 1, 310);

	assert_int_equal(count(m, SERIES_SERVICE, 300), 1);
	assert_int_equal(count(m, SERIES_INTENT, 310), 1);
	assert_int_equal(count(m, SERIES_INTENT, 320), 1);
	assert_int_equal(count(m, SERIES_DEPARTURE_ERROR, 10), 2);
	assert_int_equal(count(m, SERIES_INTER_DEPARTURE, 1000), 1);
	assert_int_equal(count(m, SERIES_ARRIVAL_WINDOW, 5), 2);
	assert_int_equal(finish(m, records, 4), 2);
	assert_int_equal(records[1].seq, 1);
	assert_int_equal(records[1].due_tsc, due_of(1));
	assert_int_equal(records[1].sent_tsc, due_of(1) + 10);
	assert_int_equal(records[1].received_tsc, due_of(1) + 320);
	assert_int_equal(records[1].flow, 1);
	assert_int_equal(records[1].flags, 0);
}

static void test_jitter_is_between_successive_packets_of_a_flow(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	// Flow 0 is 0, 2, 4, 6; packet 4 is lost: no jitter across it.
	send(m, 8);
	receive(m, 0, 300);
	receive(m, 1, 900);
	receive(m, 2, 280);
	receive(m, 3, 907);
	receive(m, 6, 500);

	assert_int_equal(histogram_total(&m->histograms[0][0][SERIES_JITTER]), 2);
	assert_int_equal(count(m, SERIES_JITTER, 20), 1);
	assert_int_equal(count(m, SERIES_JITTER, 7), 1);
	finish(m, records, 1);
}

static void test_jitter_of_reordered_packets_is_between_neighbours_in_the_flow(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	// Flow 0 is 0, 2, 4, 6 and comes as 0, 4, 2, 6: three pairs, whichever came first.
	send(m, 8);
	receive(m, 0, 300);
	receive(m, 4, 301);
	receive(m, 2, 307);
	receive(m, 6, 400);

	assert_int_equal(histogram_total(&m->histograms[0][0][SERIES_JITTER]), 3);
	assert_int_equal(count(m, SERIES_JITTER, 7), 1);
	assert_int_equal(count(m, SERIES_JITTER, 6), 1);
	assert_int_equal(count(m, SERIES_JITTER, 99), 1);
	finish(m, records, 1);
}

static void test_jitter_beside_a_void_packet_is_void_in_any_order(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	send(m, 6);
	receive(m, 0, 300);
	// From 10 ticks before packet 4 arrived until 90 after it.
	gaps.checkpoint_tsc = due_of(4) + 300;
	gap_watch_check(&gaps, due_of(4) + 400);
	receive(m, 4, 300);
	receive(m, 2, 307);

	assert_int_equal(histogram_total(&m->histograms[0][0][SERIES_JITTER]), 0);
	assert_int_equal(histogram_total(&m->histograms[0][1][SERIES_JITTER]), 2);
	finish(m, records, 1);
}

static void test_order_is_kept_per_flow(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	send(m, 4);
	receive(m, 1, 300); // another flow than 0
	receive(m, 0, 300);
	receive(m, 3, 300);
	receive(m, 2, 300);
	assert_int_equal(m->counters.out_of_sequence, 0);
	send(m, 4);
	receive(m, 6, 300);
	receive(m, 4, 300);

	assert_int_equal(m->counters.out_of_sequence, 1);
	finish(m, records, 4);
}

static void test_duplicates_orphans_and_strangers_are_told_apart(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	send(m, 1);
	receive(m, 0, 300);
	receive(m, 0, 400);
	receive(m, 7, 300);
	// Of another run: when it was due is told by that one's epoch.
	measurement_received(m, &(struct received_packet){.due_tsc = 7, .received_tsc = 9});

	assert_int_equal(m->counters.matched, 1);
	assert_int_equal(m->counters.duplicates, 1);
	assert_int_equal(m->counters.orphans, 2);
	assert_int_equal(finish(m, records, 4), 4);
	assert_int_equal(records[1].flags, PACKET_DUPLICATE);
	for (int i = 2; i < 4; i++) {
		assert_int_equal(records[i].flags, PACKET_ORPHAN);
		assert_int_equal(records[i].due_tsc, 0);
	}
	assert_int_equal(records[3].received_tsc, 9);
}

static void test_a_duplicate_was_due_when_its_packet_was(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[2];

	(void)state;
	send(m, 1);
	receive(m, 0, 300);
	// As after a day, when the probe's bits have come round.
	measurement_received(m, &(struct received_packet){
					.due_tsc = due_of(0) - 1000,
					.received_tsc = due_of(0) + 400,
					.is_ours = true,
				});

	assert_int_equal(finish(m, records, 2), 2);
	assert_int_equal(records[1].flags, PACKET_DUPLICATE);
	assert_int_equal(records[1].due_tsc, due_of(0));
}

static void test_what_the_ring_overtakes_is_lost_and_then_late(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[2];

	send(m, CAPACITY);
	assert_int_equal(m->counters.lost, 0);
	receive(m, 0, 300);
	send(m, 2);
	assert_int_equal(m->counters.lost, 1);
	receive(m, 1, 99999);

	assert_int_equal(m->counters.late, 1);
	assert_int_equal(finish(m, records, 2), CAPACITY + 2 + 1);
	assert_int_equal(records[1].seq, 1);
	assert_int_equal(records[1].received_tsc, 0);
}

static void test_after_the_deadline_a_packet_is_lost_however_large_the_ring(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	send(m, 2);
	receive(m, 0, DEADLINE);
	receive(m, 1, DEADLINE + 1);
	receive(m, 1, DEADLINE + 2);

	assert_int_equal(m->counters.matched, 1);
	assert_int_equal(m->counters.lost, 1);
	assert_int_equal(m->counters.late, 2);
	assert_int_equal(finish(m, records, 4), 4);
	assert_int_equal(records[1].seq, 1);
	assert_int_equal(records[1].received_tsc, 0);
	assert_int_equal(records[2].flags, PACKET_LATE);
	assert_int_equal(records[3].flags, PACKET_LATE);
}

static void test_what_is_lost_or_refused_in_the_warm_up_is_counted_apart(void **state)
{
	struct measurement *m = start(RECORD_MODE_NONE);
	struct packet_record records[1];
	const uint8_t flags[] = {IN_FLIGHT_COLD, IN_FLIGHT_COLD, 0, 0};

	for (uint64_t seq = 0; seq < 4; seq++)
		measurement_sent(m, &(struct sent_packet){
					    .due_tsc = due_of(seq),
					    .sent_tsc = seq % 2 == 0 ? due_of(seq) + 10 : 0,
					    .flow = (uint32_t)(seq % 2),
					    .frame_len = 64,
					    .flags = flags[seq],
				    });
	measurement_finish(m, UINT64_MAX);

	assert_int_equal(m->counters.cold, 2);
	assert_int_equal(m->counters.lost, 2);
	assert_int_equal(m->counters.lost_cold, 1);
	assert_int_equal(m->counters.unsent, 2);
	assert_int_equal(m->counters.unsent_cold, 1);
	finish(m, records, 1);
}

static void test_a_refused_packet_is_unsent_and_no_loss(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[3];

	send(m, 1);
	measurement_sent(m, &(struct sent_packet){.due_tsc = due_of(1), .frame_len = 64});
	receive(m, 0, 300);
	receive(m, 1, 300); // cannot be: it was never sent

	assert_int_equal(m->counters.unsent, 1);
	assert_int_equal(m->counters.sent, 1);
	assert_int_equal(m->counters.orphans, 1);
	assert_int_equal(finish(m, records, 3), 3);
	assert_int_equal(records[0].flags, PACKET_UNSENT);
	assert_int_equal(records[0].sent_tsc, 0);
}

static void test_no_distance_is_told_across_a_refused_packet(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	send(m, 2);
	measurement_sent(m, &(struct sent_packet){.due_tsc = due_of(2), .frame_len = 64});
	send(m, 2);
	for (uint64_t seq = 0; seq < 5; seq++)
		receive(m, seq, 300);

	assert_int_equal(m->counters.matched, 4);
	// From the first to the second packet, and from the fourth to the fifth.
	assert_int_equal(histogram_total(&m->histograms[0][0][SERIES_INTER_DEPARTURE]), 2);
	assert_int_equal(count(m, SERIES_INTER_DEPARTURE, 1000), 2);
	assert_int_equal(histogram_total(&m->histograms[0][0][SERIES_DEPARTURE_ERROR]), 4);
	assert_int_equal(m->last_sent_tsc, due_of(4) + 10);
	finish(m, records, 1);
}

static void test_flags_of_the_sender_reach_record_and_histogram(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	measurement_sent(m, &(struct sent_packet){
				    .due_tsc = due_of(0),
				    .sent_tsc = due_of(0) + QUANTUM + 1,
				    .flags = IN_FLIGHT_VOID | IN_FLIGHT_COLD,
			    });
	receive(m, 0, 300);

	assert_int_equal(m->counters.sent_late, 1);
	assert_int_equal(m->counters.void_cold, 1);
	assert_int_equal(histogram_total(&m->histograms[1][1][SERIES_SERVICE]), 1);
	finish(m, records, 1);
	assert_int_equal(records[0].flags, PACKET_VOID | PACKET_COLD);
}

static void test_lost_packets_that_a_gap_may_have_cost_are_counted(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[2];

	gap(due_of(0) - 5, due_of(0) + 500);
	send(m, 1); // was due in it; is lost
	gap(due_of(1) - 1, due_of(1)); // too short to be one
	send(m, 1); // is lost, too
	measurement_finish(m, UINT64_MAX);
	assert_int_equal(m->counters.lost, 2);
	assert_int_equal(m->counters.lost_void, 1);
	finish(m, records, 2);
}

static void test_more_may_be_lost_at_the_end_than_the_ring_of_records_holds(void **state)
{
	struct packet_record records[CAPACITY];

	ring_bytes = 4 * sizeof(records[0]);
	struct measurement *m = start(RECORD_MODE_ALL);
	ring_bytes = 1 << 20;
	send(m, CAPACITY);

	assert_int_equal(finish(m, records, CAPACITY), CAPACITY);
	for (uint64_t seq = 0; seq < CAPACITY; seq++)
		assert_int_equal(records[seq].seq, seq);
}

static void test_what_nobody_waited_for_is_lost_and_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[2];

	send(m, 2);
	measurement_finish(m, due_of(0) + 10 + DEADLINE); // before that of packet 1
	assert_int_equal(m->counters.lost, 2);
	assert_int_equal(m->counters.lost_void, 1);

	assert_int_equal(finish(m, records, 2), 2);
	assert_int_equal(records[0].flags, 0);
	assert_int_equal(records[1].flags, PACKET_VOID);
}

static void test_capacity_holds_the_most_of_a_deadline_within_limits(void **state)
{
	assert_int_equal(in_flight_size(10, 1, 1000000000).capacity, IN_FLIGHT_MIN_CAPACITY);
	assert_int_equal(in_flight_size(50e3, 1, 1000000000).capacity, 131072);
	assert_int_equal(in_flight_size(100e3, 1, 1000000000).capacity, 262144);
	assert_int_equal(in_flight_size(4e3, 8192, 10000000).capacity, 16384);
	assert_int_equal(in_flight_size(13e6, 1, 1000000000).capacity, IN_FLIGHT_MAX_CAPACITY);
	// So long taut-trace waits for a loss (hold_ns of late_packets.c).
	for (double rate_pps = 820; rate_pps < 4e6; rate_pps *= 1.09)
		assert_true(in_flight_size(rate_pps, 1, 1000000000).capacity <= 5 * rate_pps);
}

static void test_what_others_sent_before_is_neither_counted_nor_recorded(void **state)
{
	struct measurement *m = start_before_it_begins(RECORD_MODE_ALL, 0, false);
	struct packet_record records[2];

	measurement_received(m, &(struct received_packet){.seq = 7, .received_tsc = due_of(0)});
	assert_int_equal(m->counters.orphans, 1);
	measurement_begin(m);
	send(m, 1);
	receive(m, 0, 300);

	assert_int_equal(m->counters.orphans, 0);
	assert_int_equal(finish(m, records, 2), 1);
	assert_int_equal(records[0].flags, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_others_sent_before_is_neither_counted_nor_recorded),
		cmocka_unit_test(test_a_packet_is_timed_and_recorded),
		cmocka_unit_test(test_jitter_is_between_successive_packets_of_a_flow),
		cmocka_unit_test(
			test_jitter_of_reordered_packets_is_between_neighbours_in_the_flow),
		cmocka_unit_test(test_jitter_beside_a_void_packet_is_void_in_any_order),
		cmocka_unit_test(test_order_is_kept_per_flow),
		cmocka_unit_test(test_duplicates_orphans_and_strangers_are_told_apart),
		cmocka_unit_test(test_a_duplicate_was_due_when_its_packet_was),
		cmocka_unit_test(test_what_the_ring_overtakes_is_lost_and_then_late),
		cmocka_unit_test(test_after_the_deadline_a_packet_is_lost_however_large_the_ring),
		cmocka_unit_test(test_what_is_lost_or_refused_in_the_warm_up_is_counted_apart),
		cmocka_unit_test(test_a_refused_packet_is_unsent_and_no_loss),
		cmocka_unit_test(test_no_distance_is_told_across_a_refused_packet),
		cmocka_unit_test(test_flags_of_the_sender_reach_record_and_histogram),
		cmocka_unit_test(test_lost_packets_that_a_gap_may_have_cost_are_counted),
		cmocka_unit_test(test_what_nobody_waited_for_is_lost_and_void),
		cmocka_unit_test(test_capacity_holds_the_most_of_a_deadline_within_limits),
		cmocka_unit_test(test_more_may_be_lost_at_the_end_than_the_ring_of_records_holds),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
