// What becomes of each packet, without ports: order, loss, duplicates, voids, records.

#include "measurement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { CAPACITY = 16, QUANTUM = 100, N_LATEST = 1024, DEADLINE = 1000000 };

static char path[] = "/tmp/measurement_test.XXXXXX";
static struct gap_watch gaps;
static struct record_writer *writer;

static void open_gaps(uint64_t now_tsc)
{
	const struct gap_log_config config = {.threshold_ticks = 50, .per_packet_ticks = 10};

	assert_int_equal(gap_watch_create(&gaps, &config, N_LATEST), 0);
	gap_watch_start(&gaps, now_tsc);
}

// Each test gets a direction with one ring of 16 and two flows.
static struct measurement *start(enum record_mode mode)
{
	struct measurement *m = aligned_alloc(64, sizeof(*m));
	struct record_writer_config file = {
		.path = path, .kind = RECORD_PACKET, .ring_bytes = 1 << 20, .core = -1};
	struct measurement_config config = {
		.n_flows = 2,
		.in_flight_capacity = CAPACITY,
		.has_warm_up = true,
		.quantum_ticks = QUANTUM,
		.deadline_ticks = DEADLINE,
		.mode = mode,
		.gaps = &gaps,
	};

	open_gaps(1);
	assert_int_equal(record_writer_create(&file, &writer), 0);
	config.writer = writer;
	assert_int_equal(measurement_init(m, &config), 0);
	return m;
}

// Ends the run; returns the number of records, the first of which are copied to records.
static size_t finish(struct measurement *m, struct packet_record *records, size_t max)
{
	static const struct clock_point never;
	uint64_t n_written;

	measurement_finish(m);
	assert_true(counters_reconcile(&m->counters));
	assert_int_equal(measurement_n_in_flight(m), 0);
	assert_int_equal(record_writer_close(writer, &never, &n_written, NULL), 0);
	FILE *file = fopen(path, "rb");
	assert_int_equal(fseek(file, sizeof(struct record_file_header), SEEK_SET), 0);
	assert_int_equal(
		fread(records, sizeof(*records), max, file), n_written < max ? n_written : max);
	fclose(file);
	measurement_fini(m);
	gap_watch_destroy(&gaps);
	free(m);
	return n_written;
}

// Packets are due every 1000 ticks, sent 10 later.
static uint64_t due_of(uint64_t seq)
{
	return 1000000 + seq * 1000;
}

static void send(struct measurement *m, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t seq = m->in_flight.next_seq;
		measurement_sent(m, &(struct sent_packet){
					    .due_tsc = due_of(seq),
					    .sent_tsc = due_of(seq) + 10,
					    .flow = (uint32_t)(seq % 2),
					    .frame_len = 64,
				    });
	}
}

static void receive(struct measurement *m, uint64_t seq, uint64_t latency)
{
	measurement_received(m, &(struct received_packet){
					.seq = seq,
					.due_tsc = due_of(seq),
					.received_tsc = due_of(seq) + 10 + latency,
					.arrival_window = 5,
					.flow = (uint32_t)(seq % 2),
					.frame_len = 64,
					.is_ours = true,
				});
}

static uint64_t count(const struct measurement *m, enum histogram_series series, uint64_t value)
{
	return m->histograms[0][0][series].counts[histogram_index(value)];
}

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
	measurement_received(m, &(struct received_packet){.seq = 0, .is_ours = false});

	assert_int_equal(m->counters.matched, 1);
	assert_int_equal(m->counters.duplicates, 1);
	assert_int_equal(m->counters.orphans, 2);
	assert_int_equal(finish(m, records, 4), 4);
	assert_int_equal(records[1].flags, PACKET_DUPLICATE);
	assert_int_equal(records[2].flags, PACKET_ORPHAN);
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
	measurement_finish(m);

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

// The loop stood still from one time to the other.
static void gap(uint64_t from, uint64_t until)
{
	gaps.checkpoint_tsc = from;
	gap_watch_check(&gaps, until);
}

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

static void test_what_a_device_held_back_from_a_full_ring_is_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	send(m, 3);
	gap(due_of(2) + 100, due_of(2) + 200);
	gap_watch_waited(&gaps, GAP_WATCH_RING - 1, due_of(2) + 50, due_of(2) + 250);
	receive(m, 0, 2900); // there was room
	gap_watch_waited(&gaps, GAP_WATCH_RING, due_of(2) + 201, due_of(2) + 250);
	receive(m, 1, 1900); // the gap had ended before those that waited came
	gap_watch_waited(&gaps, GAP_WATCH_RING, due_of(2) + 50, due_of(2) + 250);
	receive(m, 2, 900);
	send(m, 1);
	receive(m, 3, 300); // sent after

	assert_int_equal(finish(m, records, 4), 4);
	assert_int_equal(records[0].flags, 0);
	assert_int_equal(records[1].flags, 0);
	assert_int_equal(records[2].flags, PACKET_VOID);
	assert_int_equal(records[3].flags, 0);
}

static void test_a_lost_packet_is_void_if_a_gap_met_it_while_it_could_be_back(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[4];

	send(m, 4);
	receive(m, 0, 300);
	gap(due_of(2) + 200, due_of(2) + 300); // packet 1 should have been back long before

	assert_int_equal(finish(m, records, 4), 4);
	assert_int_equal(records[1].seq, 1);
	assert_int_equal(records[1].flags, 0);
	assert_int_equal(records[2].flags, PACKET_VOID);
	assert_int_equal(records[3].flags, 0);
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

static void test_tail_keeps_about_the_slowest_hundredth_and_all_that_is_odd(void **state)
{
	enum { N = 100000 };
	struct measurement *m = start(RECORD_MODE_TAIL);
	static struct packet_record records[N];
	uint64_t n_slow = 0;

	for (uint64_t seq = 0; seq < N; seq++) {
		send(m, 1);
		if (seq != N - 1) // the last one is lost
			receive(m, seq, 1000 + seq * 7919 % 1000);
	}
	size_t n = finish(m, records, N);

	assert_in_range(n, N / 150, N / 50);
	assert_int_equal(records[n - 1].seq, N - 1);
	for (size_t i = n / 2; i < n - 1; i++)
		n_slow += records[i].received_tsc - records[i].sent_tsc > 1970;
	assert_true(n_slow > (n - n / 2) * 8 / 10);
}

static void test_a_lost_packet_whose_gaps_are_forgotten_is_void(void **state)
{
	struct measurement *m = start(RECORD_MODE_ALL);
	struct packet_record records[2];

	send(m, 2);
	receive(m, 0, 300); // no later gap is of interest to packet 1: it was lost before
	for (uint64_t i = 0; i <= N_LATEST; i++)
		gap(due_of(10) + i * 1000, due_of(10) + i * 1000 + 100);

	assert_int_equal(finish(m, records, 2), 2);
	assert_int_equal(records[0].flags, 0);
	assert_int_equal(records[1].seq, 1);
	assert_int_equal(records[1].flags, PACKET_VOID);
}

static void test_capacity_holds_a_deadline_within_limits(void **state)
{
	assert_int_equal(in_flight_capacity(10, 1000000000), IN_FLIGHT_MIN_CAPACITY);
	assert_int_equal(in_flight_capacity(100e3, 1000000000), 131072);
	assert_int_equal(in_flight_capacity(13e6, 1000000000), IN_FLIGHT_MAX_CAPACITY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_packet_is_timed_and_recorded),
		cmocka_unit_test(test_jitter_is_between_successive_packets_of_a_flow),
		cmocka_unit_test(
			test_jitter_of_reordered_packets_is_between_neighbours_in_the_flow),
		cmocka_unit_test(test_jitter_beside_a_void_packet_is_void_in_any_order),
		cmocka_unit_test(test_order_is_kept_per_flow),
		cmocka_unit_test(test_duplicates_orphans_and_strangers_are_told_apart),
		cmocka_unit_test(test_what_the_ring_overtakes_is_lost_and_then_late),
		cmocka_unit_test(test_after_the_deadline_a_packet_is_lost_however_large_the_ring),
		cmocka_unit_test(test_what_is_lost_or_refused_in_the_warm_up_is_counted_apart),
		cmocka_unit_test(test_a_refused_packet_is_unsent_and_no_loss),
		cmocka_unit_test(test_a_gap_that_meets_sending_or_arrival_makes_a_packet_void),
		cmocka_unit_test(test_what_a_device_holds_for_a_delayed_packet_is_void),
		cmocka_unit_test(test_what_a_device_held_back_from_a_full_ring_is_void),
		cmocka_unit_test(test_a_lost_packet_is_void_if_a_gap_met_it_while_it_could_be_back),
		cmocka_unit_test(test_flags_of_the_sender_reach_record_and_histogram),
		cmocka_unit_test(test_tail_keeps_about_the_slowest_hundredth_and_all_that_is_odd),
		cmocka_unit_test(test_a_lost_packet_whose_gaps_are_forgotten_is_void),
		cmocka_unit_test(test_capacity_holds_a_deadline_within_limits),
	};
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return n_failed;
}
