// Which packets are void: a gap of the loop met their sending, their arrival or their loss.

#include "measurement_test_env.h"

static void test_a_gap_that_meets_sending_or_arrival_makes_a_packet_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[5];

	gap(due_of(0) - 500, due_of(0) - 100);
	send(m, 3);
	receive(m, 0, 300); // due after the gap
	gap(due_of(1) + 100, due_of(1) + 200);
	receive(m, 1, 300); // the gap was over before its arrival window: it was in the device
	gap(due_of(2) + 250, due_of(2) + 308);
	receive(m, 2, 300); // its arrival window begins at 305
	gap(due_of(3) - 50, due_of(3) + 5);
	send(m, 1); // was due while the loop stood
	receive(m, 3, 300);

	assert_int_equal(m->counters.void_, 2);
	assert_int_equal(m->histograms[0][1][SERIES_SERVICE].counts[300], 2);
	assert_int_equal(finish(m, records, 5), 4);
	assert_int_equal(records[0].flags, 0);
	assert_int_equal(records[1].flags, 0);
	assert_int_equal(records[2].flags, PACKET_VOID);
	assert_int_equal(records[3].flags, PACKET_VOID);
}

static void test_what_a_device_holds_for_a_delayed_packet_is_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[5];

	m->device_holds = true;
	send(m, 2);
	gap(due_of(1) + 200, due_of(1) + 300); // between departures: it delays none
	send(m, 1);
	receive(m, 0, 2500);
	gap(due_of(3) - 50, due_of(3) + 5);
	send(m, 1); // was due while the loop stood
	receive(m, 1, 2500);
	receive(m, 2, 1500);
	send(m, 1);
	receive(m, 4, 300);

	assert_int_equal(finish(m, records, 5), 5);
	assert_int_equal(records[0].flags, 0);
	assert_int_equal(records[1].flags, PACKET_VOID);
	assert_int_equal(records[2].flags, PACKET_VOID);
	assert_int_equal(records[3].flags, 0);
	assert_int_equal(records[4].seq, 3);
}

static void test_what_a_device_holds_stays_void_when_a_later_packet_is_refused(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	m->device_holds = true;
	send(m, 1);
	gap(due_of(1) - 50, due_of(1) + 5);
	send(m, 1); // was due while the loop stood
	gap(due_of(2) - 50, due_of(2) + 5);
	measurement_sent(m, &(struct sent_packet){.due_tsc = due_of(2), .frame_len = 64});
	receive(m, 0, 2500); // it waited for packet 1

	assert_int_equal(finish(m, records, 4), 3);
	assert_int_equal(records[0].flags, PACKET_VOID | PACKET_UNSENT);
	assert_int_equal(records[1].seq, 0);
	assert_int_equal(records[1].flags, PACKET_VOID);
}

static void test_what_a_device_held_back_from_a_full_ring_is_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];
	struct waiting waiting = none_waiting;
	enum { FULL = 960 };

	gap_watch_set_ring(&gaps, 1024, 64, 0);
	send(m, 3);
	gap(due_of(2) + 100, due_of(2) + 200);
	gap_watch_waited(&gaps, &waiting, FULL - 1, due_of(2) + 50, due_of(2) + 250);
	receive(m, 0, 2900); // there was room
	gap_watch_waited(&gaps, &waiting, FULL, due_of(2) + 201, due_of(2) + 250);
	receive(m, 1, 1900); // the gap had ended before those that waited came
	gaps.keeps = false;
	gap_watch_waited(&gaps, &waiting, 1, due_of(2) + 50, due_of(2) + 250);
	assert_int_equal(gaps.full_ring_tsc, 0); // of a socket: it was lost, and nobody waited
	gaps.keeps = true;
	gap_watch_waited(&gaps, &waiting, 1, due_of(2) + 50, due_of(2) + 250);
	receive(m, 2, 900);
	send(m, 1);
	receive(m, 3, 300); // sent after

	assert_int_equal(finish(m, records, 4), 4);
	assert_int_equal(records[0].flags, 0);
	assert_int_equal(records[1].flags, 0);
	assert_int_equal(records[2].flags, PACKET_VOID);
	assert_int_equal(records[3].flags, 0);
}

static void test_no_gap_takes_the_blame_for_a_loss_that_found_room_in_the_ring(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[6];
	struct waiting waiting = {.oldest_tsc = due_of(4)};

	gap_watch_set_ring(&gaps, 1024, 64, 0);
	send(m, 6);
	receive(m, 0, 6000);
	for (uint64_t seq = 1; seq < 5; seq++)
		receive(m, seq, 300);
	gap(due_of(5) + 200, due_of(5) + 300);
	gap_watch_waited(&gaps, &waiting, 2, due_of(5) + 150, due_of(5) + 300);

	finish(m, records, 6);
	assert_int_equal(records[5].seq, 5);
	assert_int_equal(records[5].received_tsc, 0);
	assert_int_equal(records[5].flags, 0);
}

static void test_a_lost_packet_is_void_if_it_can_have_found_the_ring_full(void **state)
{
	// Whether the device waits for room or its packets are lost then.
	for (int keeps = 0; keeps < 2; keeps++) {
		struct measurement *m = start(RECORD_MODE_ALL);
		struct packet_record records[5];
		struct waiting waiting = {.oldest_tsc = due_of(2)};

		gaps.keeps = keeps;
		gap_watch_set_ring(&gaps, 1024, 64, 0);
		send(m, 4);
		gap(due_of(3) + 100, due_of(3) + 200);
		gap_watch_waited(&gaps, &waiting, 1024, due_of(3) + 50, due_of(3) + 250);
		receive(m, 2, 1240); // the oldest in the ring
		receive(m, 0, 3240); // another way, so slow that it says nothing of the ring
		send(m, 1);
		measurement_finish(m, UINT64_MAX);

		assert_int_equal(m->counters.lost, 3);
		assert_int_equal(m->counters.lost_void, 1);
		assert_int_equal(finish(m, records, 5), 5);
		assert_int_equal(records[2].seq, 1); // lost before
		assert_int_equal(records[2].flags, 0);
		assert_int_equal(records[3].flags, PACKET_VOID);
		assert_int_equal(records[4].flags, 0); // sent after
	}
}

static void test_a_lost_packet_is_void_if_nobody_knows_whether_the_ring_was_full(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[1];

	send(m, 1);
	for (uint64_t i = 0; i <= N_SPANS; i++)
		gap_watch_remember_full(&gaps, due_of(10) + i * 1000, due_of(10) + i * 1000);

	assert_int_equal(finish(m, records, 1), 1);
	assert_int_equal(records[0].flags, PACKET_VOID);
}

static void test_a_late_packet_is_void_if_a_gap_met_its_arrival(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[6];
	const uint64_t last_tsc = due_of(0) + 10 + DEADLINE;

	// All arrive past their deadline; the window of each begins 4 ticks after the deadline.
	send(m, 3);
	receive(m, 0, DEADLINE + 9);
	gap(last_tsc + 500, last_tsc + 600);
	receive(m, 1, DEADLINE + 9); // the gap was over before its arrival window
	gap(last_tsc + 1900, last_tsc + 2006);
	receive(m, 2, DEADLINE + 9);

	assert_int_equal(m->counters.late, 3);
	assert_int_equal(m->counters.lost, 3);
	assert_int_equal(m->counters.lost_void, 1);
	assert_int_equal(m->counters.void_, 1);
	assert_int_equal(finish(m, records, 6), 6);
	const uint16_t flags[] = {0, PACKET_LATE, 0, PACKET_LATE, PACKET_VOID, PACKET_LATE};
	for (int i = 0; i < 6; i++)
		assert_int_equal(records[i].flags, flags[i]);
	assert_int_equal(records[4].seq, 2);
	assert_int_equal(records[4].received_tsc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_gap_that_meets_sending_or_arrival_makes_a_packet_void),
		cmocka_unit_test(test_what_a_device_holds_for_a_delayed_packet_is_void),
		cmocka_unit_test(
			test_what_a_device_holds_stays_void_when_a_later_packet_is_refused),
		cmocka_unit_test(test_what_a_device_held_back_from_a_full_ring_is_void),
		cmocka_unit_test(
			test_no_gap_takes_the_blame_for_a_loss_that_found_room_in_the_ring),
		cmocka_unit_test(test_a_lost_packet_is_void_if_it_can_have_found_the_ring_full),
		cmocka_unit_test(
			test_a_lost_packet_is_void_if_nobody_knows_whether_the_ring_was_full),
		cmocka_unit_test(test_a_late_packet_is_void_if_a_gap_met_its_arrival),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
