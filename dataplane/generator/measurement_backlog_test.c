// Which packets are void because they stand behind a backlog of the sender's in the device.

#include "measurement_test_env.h"

// Packets 0 to 5, as behind a gap from when packet 0 was due: one each half gap. What is on time
// again, from packet 6 on, can stand behind them until packet 8 is sent.
static void send_backlog(struct measurement *m)
{
	for (uint64_t seq = 0; seq < 6; seq++)
		measurement_sent(m, &(struct sent_packet){
					    .due_tsc = due_of(seq),
					    .sent_tsc = due_of(seq) + 2800 - seq * 500,
					    .flow = (uint32_t)(seq % 2),
					    .frame_len = 64,
					    .flags = IN_FLIGHT_VOID,
				    });
}

static void receive_some(struct measurement *m, uint64_t from, uint64_t until)
{
	for (uint64_t seq = from; seq < until; seq++)
		receive(m, seq, 5000);
}

static void test_what_stands_behind_a_backlog_is_void_for_as_long_as_that_took(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[9];

	send_backlog(m);
	send(m, 3);
	assert_int_equal(m->void_sent_tsc, due_of(5) + 300); // the gap delayed none of them
	receive_some(m, 0, 9);

	assert_int_equal(m->counters.void_, 8);
	assert_int_equal(finish(m, records, 9), 9);
	for (uint64_t seq = 0; seq < 8; seq++)
		assert_int_equal(records[seq].flags, PACKET_VOID);
	assert_int_equal(records[8].flags, 0);
}

static void test_nothing_stands_behind_a_backlog_that_is_back(void **state)
{
	// Of the packets from 6 on so many were sent before all were back.
	for (uint64_t n_behind = 0; n_behind < 2; n_behind++) {
		struct measurement *m = start(RECORD_MODE_ALL);
		struct packet_record records[9];

		send_backlog(m);
		send(m, n_behind);
		receive_some(m, 0, 6 + n_behind);
		send(m, 3 - n_behind);
		receive_some(m, 6 + n_behind, 9);

		assert_int_equal(m->counters.void_, 6 + n_behind);
		assert_int_equal(finish(m, records, 9), 9);
		for (uint64_t seq = 6; seq < 9; seq++)
			assert_int_equal(records[seq].flags, seq < 6 + n_behind ? PACKET_VOID : 0);
	}
}

static void test_what_is_sent_on_time_behind_a_packet_that_is_behind_is_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	send_backlog(m);
	send(m, 1);
	receive_some(m, 0, 6);
	send(m, 1); // packet 6 is still under way
	receive_some(m, 6, 8);

	assert_int_equal(m->counters.void_, 8);
	finish(m, records, 1);
}

static void test_one_way_through_the_device_that_is_empty_says_nothing_of_another(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	send_backlog(m);
	for (uint64_t seq = 1; seq < 6; seq += 2)
		receive(m, seq, 5000); // of flow 1, the last one among them
	send(m, 1);
	receive(m, 0, 5000);
	receive(m, 2, 5000);
	receive(m, 4, 5000);
	receive(m, 6, 5000);
	send(m, 1);
	receive(m, 7, 300); // all were back

	assert_int_equal(m->counters.void_, 7);
	finish(m, records, 1);
}

static void test_what_is_lost_of_a_backlog_is_not_waited_for(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	send_backlog(m);
	receive_some(m, 1, 3);
	receive_some(m, 4, 6); // packets 0 and 3 were lost: later ones of their flows are back
	send(m, 1);
	receive(m, 6, 300);

	assert_int_equal(m->counters.void_, 4);
	finish(m, records, 1);
}

// All of it that the ring still knows is lost, but what was sent since: packets 6 to 25.
static void lose_flow_1_with_the_backlog(struct measurement *m)
{
	send_backlog(m);
	for (uint64_t seq = 0; seq < 26; seq += 2) {
		if (seq >= 6)
			send(m, 2);
		receive(m, seq, 5000);
	}
}

static void send_late(struct measurement *m, uint64_t seq, uint64_t late_ticks)
{
	measurement_sent(m, &(struct sent_packet){
				    .due_tsc = due_of(seq),
				    .sent_tsc = due_of(seq) + late_ticks,
				    .flow = (uint32_t)(seq % 2),
				    .frame_len = 64,
				    .flags = IN_FLIGHT_VOID,
			    });
}

// One of each flow, as behind a gap from when the first was due.
static void send_two_late(struct measurement *m)
{
	for (int i = 0; i < 2; i++)
		send_late(m, m->in_flight.next_seq, 6 * QUANTUM);
}

static void test_what_is_lost_for_good_is_not_waited_for_behind_every_gap(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	lose_flow_1_with_the_backlog(m);
	send_two_late(m);
	receive(m, 26, 5000);
	const uint64_t n_void = m->counters.void_;
	send(m, 1);
	receive(m, 28, 300); // flow 0 was back, of flow 1 nobody waits for any

	assert_int_equal(m->counters.void_, n_void);
	finish(m, records, 1);
}

static void test_a_flow_that_is_given_up_makes_no_backlog_longer(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	lose_flow_1_with_the_backlog(m);
	send(m, 1);
	receive(m, 26, 300);
	send_late(m, 27, 15 * QUANTUM); // would be ahead until packet 31 is sent
	send_late(m, 28, 6 * QUANTUM); // until packet 30 is
	send(m, 2);

	const struct in_flight *sent = &m->in_flight;
	assert_true((sent->entries[29 & sent->mask].flags & IN_FLIGHT_VOID) != 0);
	assert_false((sent->entries[30 & sent->mask].flags & IN_FLIGHT_VOID) != 0);
	finish(m, records, 1);
}

static void test_a_flow_that_came_back_is_waited_for_again(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	lose_flow_1_with_the_backlog(m);
	receive(m, 25, 5000);
	send_two_late(m);
	receive(m, 26, 5000);
	const uint64_t n_void = m->counters.void_;
	send(m, 1);
	receive(m, 28, 300); // packet 27 was still under way

	assert_int_equal(m->counters.void_, n_void + 1);
	finish(m, records, 1);
}

static void test_a_flow_that_lost_a_packet_is_waited_for_all_the_same(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	send(m, 16);
	receive_some(m, 0, 1);
	receive_some(m, 2, 16);
	send(m, 1);
	receive_some(m, 16, 17);
	send_two_late(m); // the first finds the place of packet 1, which is lost
	receive(m, 18, 5000);
	const uint64_t n_void = m->counters.void_;
	send(m, 1);
	receive(m, 19, 300); // packet 17 was still under way

	assert_int_equal(m->counters.lost, 1);
	assert_int_equal(m->counters.void_, n_void + 1);
	finish(m, records, 1);
}

static void test_a_backlog_that_is_back_adds_nothing_to_the_next_one(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];
	const uint64_t late_tsc = due_of(6) + 4 * QUANTUM;

	send_backlog(m);
	receive_some(m, 0, 6);
	measurement_sent(m, &(struct sent_packet){.due_tsc = due_of(6),
				    .sent_tsc = late_tsc,
				    .frame_len = 64,
				    .flags = IN_FLIGHT_VOID});
	// Packet 7 could stand behind the first backlog; it cannot behind this one.
	send(m, 1);
	receive_some(m, 6, 8);

	assert_int_equal(m->counters.void_, 7);
	finish(m, records, 1);
}

static void test_what_finds_the_device_full_of_a_backlog_is_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[9];

	send_backlog(m);
	measurement_sent(m, &(struct sent_packet){.due_tsc = due_of(6), .frame_len = 64});
	send(m, 2); // packet 7 stands behind the backlog, packet 8 does not any more
	receive_some(m, 0, 6);
	receive_some(m, 7, 9);

	assert_int_equal(finish(m, records, 9), 9);
	assert_int_equal(records[0].seq, 6);
	assert_int_equal(records[0].flags, PACKET_VOID | PACKET_UNSENT);
	assert_int_equal(records[7].flags, PACKET_VOID);
	assert_int_equal(records[8].flags, 0);
}

static void test_a_backlog_of_few_quanta_leaves_nothing_behind(void **state)
{
	for (uint64_t late = 3 * QUANTUM; late <= 5 * QUANTUM; late += 2 * QUANTUM) {
		struct measurement *m = start(RECORD_MODE_ALL);
		struct packet_record records[1];
		const uint64_t sent_tsc = due_of(0) + late, next_tsc = sent_tsc + 250;

		measurement_sent(m, &(struct sent_packet){.due_tsc = due_of(0),
					    .sent_tsc = sent_tsc,
					    .flags = IN_FLIGHT_VOID});
		measurement_sent(
			m, &(struct sent_packet){.due_tsc = next_tsc, .sent_tsc = next_tsc});
		receive_some(m, 0, 2);

		assert_int_equal(m->counters.void_, late == 3 * QUANTUM ? 1 : 2);
		finish(m, records, 1);
	}
}

static void test_a_flow_is_given_up_only_where_more_of_it_was_sent(void **state)
{
	const uint32_t n_flows[] = {2, CAPACITY, 2 * CAPACITY};

	for (int i = 0; i < 3; i++) {
		struct measurement *m = start(RECORD_MODE_ALL);
		struct packet_record records[1];

		m->n_flows = n_flows[i]; // that one packet each would be of
		send(m, CAPACITY + 1); // the first is overtaken by the last
		bool is_given_up = m->flows[0].backlog.end_seq == BACKLOG_GIVEN_UP;
		assert_int_equal(is_given_up, n_flows[i] < CAPACITY);
		finish(m, records, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_what_stands_behind_a_backlog_is_void_for_as_long_as_that_took),
		cmocka_unit_test(test_nothing_stands_behind_a_backlog_that_is_back),
		cmocka_unit_test(test_what_is_sent_on_time_behind_a_packet_that_is_behind_is_void),
		cmocka_unit_test(
			test_one_way_through_the_device_that_is_empty_says_nothing_of_another),
		cmocka_unit_test(test_what_is_lost_of_a_backlog_is_not_waited_for),
		cmocka_unit_test(test_what_is_lost_for_good_is_not_waited_for_behind_every_gap),
		cmocka_unit_test(test_a_flow_that_is_given_up_makes_no_backlog_longer),
		cmocka_unit_test(test_a_flow_that_came_back_is_waited_for_again),
		cmocka_unit_test(test_a_flow_that_lost_a_packet_is_waited_for_all_the_same),
		cmocka_unit_test(test_a_backlog_that_is_back_adds_nothing_to_the_next_one),
		cmocka_unit_test(test_what_finds_the_device_full_of_a_backlog_is_void),
		cmocka_unit_test(test_a_backlog_of_few_quanta_leaves_nothing_behind),
		cmocka_unit_test(test_a_flow_is_given_up_only_where_more_of_it_was_sent),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
