// When a lost packet is told: its deadline is over, and the ring has long not come round to it.

#include "measurement_test_env.h"

// All that came before was received.
static void seen(struct measurement *m, uint64_t tsc)
{
	// It looks at a few packets each time.
	for (int i = 0; i < CAPACITY; i++)
		measurement_seen(m, tsc);
}

static uint64_t last_tsc_of(uint64_t seq)
{
	return due_of(seq) + 10 + DEADLINE;
}

static void test_a_loss_is_told_as_the_deadline_is_over(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[3];

	send(m, 3);
	receive(m, 0, 300);
	receive(m, 2, 300);
	seen(m, last_tsc_of(1));
	assert_int_equal(m->counters.lost, 0);
	seen(m, last_tsc_of(1) + 1);
	seen(m, last_tsc_of(9));
	assert_int_equal(m->counters.lost, 1);
	assert_int_equal(m->counters.lost_void, 0);

	assert_int_equal(finish(m, records, 3), 3);
	assert_int_equal(records[2].seq, 1);
	assert_int_equal(records[2].received_tsc, 0);
	assert_int_equal(records[2].flags, 0);
}

// One departure in each deadline, from packet 1 on to a device that is dead: as at 1 packet a
// second. Each loss is told before the next but one is sent, and no packet twice when the ring has
// come round to it.
static void test_a_dead_device_is_told_at_any_rate(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[3 * CAPACITY];

	for (uint64_t seq = 0; seq < 3 * CAPACITY; seq++) {
		const uint64_t sent_tsc = due_of(0) + seq * DEADLINE;
		measurement_sent(m, &(struct sent_packet){.due_tsc = sent_tsc,
					    .sent_tsc = sent_tsc,
					    .flow = (uint32_t)(seq % 2),
					    .frame_len = 64});
		if (seq == 0)
			measurement_received(m, &(struct received_packet){
							.received_tsc = sent_tsc + 300,
							.is_ours = true,
						});
		measurement_seen(m, sent_tsc + 1);
		assert_int_equal(m->counters.lost, seq < 2 ? 0 : seq - 1);
	}

	assert_int_equal(finish(m, records, 3 * CAPACITY), 3 * CAPACITY);
	for (uint64_t seq = 0; seq < 3 * CAPACITY; seq++)
		assert_int_equal(records[seq].seq, seq);
}

static void test_what_comes_after_it_was_told_lost_is_late_and_lost_once(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	send(m, 1);
	seen(m, last_tsc_of(0) + 1);
	receive(m, 0, DEADLINE + 5);
	receive(m, 0, DEADLINE + 6);
	send(m, CAPACITY);
	seen(m, last_tsc_of(0) + 7);

	assert_int_equal(m->counters.lost, 1);
	assert_int_equal(m->counters.late, 2);
	assert_int_equal(finish(m, records, 4), 3 + CAPACITY);
	assert_int_equal(records[0].flags, 0);
	assert_int_equal(records[0].received_tsc, 0);
	assert_int_equal(records[1].flags, PACKET_LATE);
	assert_int_equal(records[2].flags, PACKET_LATE);
}

static void test_what_was_refused_is_not_lost_as_well(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[3];

	send(m, 1);
	measurement_sent(m, &(struct sent_packet){.due_tsc = due_of(1), .frame_len = 64});
	send(m, 1);
	seen(m, last_tsc_of(2) + 1);

	assert_int_equal(m->counters.lost, 2);
	assert_int_equal(m->counters.unsent, 1);
	assert_int_equal(finish(m, records, 3), 3);
}

static void test_a_void_packet_that_is_lost_stays_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	gap(due_of(0) - 50, due_of(0) + 5);
	send(m, 1);
	seen(m, last_tsc_of(0) + 1);

	assert_int_equal(m->counters.lost_void, 1);
	assert_int_equal(finish(m, records, 1), 1);
	assert_int_equal(records[0].flags, PACKET_VOID);
}

// What the ring came round to in the meantime is lost already, and the walk goes on behind it.
static void test_a_walk_that_the_ring_overtook_goes_on(void **state)
{
	struct measurement *m = start(RECORD_MODE_NONE);
	struct packet_record records[1];

	send(m, 3 * CAPACITY);
	assert_int_equal(m->counters.lost, 2 * CAPACITY);
	seen(m, last_tsc_of(2 * CAPACITY + 3) + 1);
	assert_int_equal(m->counters.lost, 2 * CAPACITY + 4);
	finish(m, records, 1);
}

static void test_what_a_device_may_have_held_for_the_generator_is_not_told_lost(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	m->device_holds = true;
	send(m, 1);
	gap(due_of(1) - 50, due_of(1) + 5);
	send(m, 1); // was due while the loop stood
	seen(m, last_tsc_of(1) + 1);
	assert_int_equal(m->counters.lost, 1);
	receive(m, 0, 2 * DEADLINE); // it waited for packet 1

	assert_int_equal(finish(m, records, 4), 3);
	assert_int_equal(records[0].seq, 1);
	assert_int_equal(records[1].seq, 0);
	assert_int_equal(records[1].flags, PACKET_VOID);
	assert_int_equal(records[2].flags, PACKET_LATE);
}

static void test_a_flow_is_given_up_only_if_it_sent_more_since(void **state)
{
	for (uint64_t n_sent = 2; n_sent < 4; n_sent++) {
		struct measurement *m = start(RECORD_MODE_ALL);
		struct packet_record records[1];

		send(m, n_sent);
		seen(m, last_tsc_of(0) + 1);
		assert_int_equal(m->counters.lost, 1);
		bool is_given_up = m->flows[0].backlog.end_seq == BACKLOG_GIVEN_UP;
		assert_int_equal(is_given_up, n_sent == 3);
		finish(m, records, 1);
	}
}

static void test_at_high_rates_nothing_is_looked_at_again(void **state)
{
	struct measurement *m = start(RECORD_MODE_NONE);
	struct packet_record records[1];

	m->overdue_tsc = UINT64_MAX; // as where the ring tells soon enough
	send(m, 1);
	seen(m, last_tsc_of(9));
	assert_int_equal(m->counters.lost, 0);
	finish(m, records, 1);
}

// By the walk, or by the ring that comes round.
static void test_a_loss_is_told_within_four_deadlines_at_any_rate_below_the_limit(void **state)
{
	const uint64_t deadlines_ns[] = {10000000, 1000000000, UINT64_C(60000000000)};

	for (int i = 0; i < 3; i++) {
		const double deadline_s = (double)deadlines_ns[i] / 1e9;
		for (double rate_pps = 0.01; rate_pps * deadline_s < 1 << 21; rate_pps *= 1.3) {
			struct in_flight_size size = in_flight_size(rate_pps, 1, deadlines_ns[i]);
			assert_true(size.is_slow || size.capacity <= 4 * rate_pps * deadline_s);
		}
	}
	assert_true(in_flight_size(10, 1, 1000000000).is_slow);
	assert_true(in_flight_size(100, 8192, 1000000000).is_slow); // of a train
	assert_false(in_flight_size(1e6, 1, 1000000000).is_slow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_loss_is_told_as_the_deadline_is_over),
		cmocka_unit_test(test_a_dead_device_is_told_at_any_rate),
		cmocka_unit_test(test_what_comes_after_it_was_told_lost_is_late_and_lost_once),
		cmocka_unit_test(test_what_was_refused_is_not_lost_as_well),
		cmocka_unit_test(test_a_void_packet_that_is_lost_stays_void),
		cmocka_unit_test(test_a_walk_that_the_ring_overtook_goes_on),
		cmocka_unit_test(
			test_what_a_device_may_have_held_for_the_generator_is_not_told_lost),
		cmocka_unit_test(test_a_flow_is_given_up_only_if_it_sent_more_since),
		cmocka_unit_test(test_at_high_rates_nothing_is_looked_at_again),
		cmocka_unit_test(
			test_a_loss_is_told_within_four_deadlines_at_any_rate_below_the_limit),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
