// The end of a run: what is under way is received, here from a ring port that is both ends.

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "clock.h"
#include "loop.h"
#include "ring_test_env.h"

enum { RUN_ID = 1, N_PACKETS = 200, N_FULL = 1023 };

static const uint64_t deadline_ticks = UINT64_C(1) << 32; // ticks: a second, at least

static char path[] = "/tmp/loop_test.XXXXXX";
static const volatile int never;
static struct loop loop;
static struct measurement measurement;

static void put_frame(uint64_t seq, uint64_t due_tsc)
{
	const struct probe probe = {
		.seq = seq, .run_id = RUN_ID, .due_ticks = due_tsc - loop.receivers[0].epoch_tsc};
	struct probe_template template;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_non_null(mbuf);
	probe_template_fill(&template, 64, 0);
	probe_write((uint8_t *)rte_pktmbuf_append(mbuf, 64), &template, &probe, 0);
	assert_int_equal(port_tx(port, &mbuf, 1), 1);
}

// As the sender does it; they are due when they are sent.
static void send_packets(uint64_t n)
{
	for (uint64_t seq = 0; seq < n; seq++) {
		const struct sent_packet packet = {
			.due_tsc = clock_tsc(), .sent_tsc = clock_tsc(), .frame_len = 64};
		put_frame(seq, packet.due_tsc);
		measurement_sent(&measurement, &packet);
	}
}

static void set_up(uint64_t timeout_tsc, uint64_t n)
{
	const struct gap_log_config gaps = {.threshold_ticks = UINT64_MAX / 4};
	const struct measurement_config config = {
		.n_flows = 1,
		.in_flight.capacity = 1024,
		.deadline_ticks = UINT64_MAX / 2,
		.gaps = &loop.gaps,
	};

	loop = (struct loop){
		.n_senders = 1,
		.n_receivers = 1,
		.n_signals = &never,
		.timeout_tsc = timeout_tsc,
	};
	assert_int_equal(gap_watch_create(&loop.gaps, &gaps, 8), 0);
	assert_int_equal(measurement_init(&measurement, &config), 0);
	measurement_begin(&measurement);
	loop.senders[0].measurement = &measurement;
	loop.receivers[0] = (struct receiver){
		.port = port,
		.gaps = &loop.gaps,
		.of = {&measurement, &measurement},
		.is_expected = {1, 1},
		.run_id = RUN_ID,
		.epoch_tsc = clock_tsc() - 2 * deadline_ticks,
		.waiting = none_waiting,
	};
	send_packets(n);
}

static void tear_down(void)
{
	measurement_fini(&measurement);
	gap_watch_destroy(&loop.gaps);
	assert_int_equal(rte_mempool_avail_count(pool), N_MBUFS);
}

static void test_what_is_under_way_is_received_though_it_cannot_be_written(void **state)
{
	const struct record_writer_config file = {
		.path = path, .kind = RECORD_PACKET, .ring_bytes = 1 << 16, .core = -1};
	static const struct clock_point nothing;

	set_up(UINT64_MAX, N_PACKETS);
	assert_int_equal(record_writer_create(&file, &loop.writer), 0);
	atomic_store(&loop.writer->error, -ENOSPC);

	assert_int_equal(loop_drain(&loop), LOOP_COMPLETE);

	assert_int_equal(measurement.counters.matched, N_PACKETS);
	assert_int_equal(record_writer_close(loop.writer, &nothing, NULL, NULL), -ENOSPC);
	tear_down();
}

static void test_what_stood_in_the_ring_when_the_time_was_over_is_received(void **state)
{
	set_up(0, N_PACKETS);

	assert_int_equal(loop_drain(&loop), LOOP_COMPLETE);

	assert_int_equal(measurement.counters.matched, N_PACKETS);
	tear_down();
}

static void test_what_is_lost_is_waited_for_until_the_time_is_over(void **state)
{
	struct sent_packet packet = {.due_tsc = 1, .sent_tsc = 1, .frame_len = 64};

	set_up(0, N_PACKETS);
	measurement_sent(&measurement, &packet);

	assert_int_equal(loop_drain(&loop), LOOP_TIMEOUT);

	assert_int_equal(measurement.counters.matched, N_PACKETS);
	assert_int_equal(measurement_n_in_flight(&measurement), 1);
	tear_down();
}

static void test_what_is_not_back_by_its_deadline_is_told_lost_before_the_ring_comes_round(
	void **state)
{
	const struct sent_packet packet = {.due_tsc = 1, .sent_tsc = 1, .frame_len = 64};

	set_up(clock_tsc() + deadline_ticks, N_PACKETS);
	measurement.deadline_ticks = deadline_ticks;
	measurement.overdue_tsc = 0; // as of a ring that comes round late
	measurement_sent(&measurement, &packet);

	assert_int_equal(loop_drain(&loop), LOOP_COMPLETE);

	assert_int_equal(measurement.counters.matched, N_PACKETS);
	assert_int_equal(measurement.counters.lost, 1);
	tear_down();
}

// In which all that is in the ring has come.
static void stand_still(void)
{
	gap_watch_set_ring(&loop.gaps, N_FULL + 1, RECEIVER_BURST, 0);
	gap_watch_remember(&loop.gaps, clock_tsc());
}

static void test_what_can_have_found_the_ring_full_is_known(void **state)
{
	set_up(UINT64_MAX, N_FULL);
	uint64_t first_tsc = measurement.in_flight.entries[0].due_tsc;
	stand_still();
	assert_false(gap_watch_was_full(&loop.gaps, first_tsc));

	assert_int_equal(loop_drain(&loop), LOOP_COMPLETE);

	assert_int_equal(measurement.counters.matched, N_FULL);
	assert_true(gap_watch_was_full(&loop.gaps, first_tsc));
	assert_false(gap_watch_was_full(&loop.gaps, first_tsc - 1));
	assert_false(gap_watch_was_full(&loop.gaps, clock_tsc()));
	tear_down();
}

static void test_what_came_long_after_its_deadline_says_nothing_of_the_ring(void **state)
{
	set_up(UINT64_MAX, N_FULL - 1);
	uint64_t first_tsc = measurement.in_flight.entries[0].due_tsc;
	measurement.deadline_ticks = deadline_ticks;
	loop.receivers[0].arrivals.since_tsc = first_tsc;
	put_frame(0, first_tsc - deadline_ticks - 1); // once more
	stand_still();

	assert_int_equal(loop_drain(&loop), LOOP_COMPLETE);

	assert_int_equal(measurement.counters.duplicates, 1);
	assert_true(gap_watch_was_full(&loop.gaps, first_tsc));
	assert_false(gap_watch_was_full(&loop.gaps, first_tsc - 1));
	tear_down();
}

static void test_what_was_due_before_the_loop_began_is_void(void **state)
{
	enum { BEHIND = 4000000, LATE = 1000000, THRESHOLD = 300000 };
	struct in_flight *sent = &measurement.in_flight;
	struct traffic *traffic = constant_traffic();

	set_up(UINT64_MAX, 0);
	loop.gaps.threshold_ticks = THRESHOLD;
	sender_init(&loop.senders[0], &(struct sender_config){
					      .port = port,
					      .pool = pool,
					      .traffic = traffic,
					      .measurement = &measurement,
					      .gaps = &loop.gaps,
					      .run_id = RUN_ID,
					      .tsc_hz = TSC_HZ,
					      .quantum_ticks = 10000,
					      .duration_ns = UINT64_MAX,
					      .count = N_PACKETS,
				      });
	sender_start(&loop.senders[0], clock_tsc() - BEHIND);

	assert_int_equal(loop_send(&loop), LOOP_COMPLETE);

	assert_int_equal(sent->next_seq, N_PACKETS);
	for (uint64_t seq = 0; seq < N_PACKETS; seq++) {
		const struct in_flight_entry *entry = &sent->entries[seq & sent->mask];
		if (entry->sent_tsc - entry->due_tsc > LATE)
			assert_true((entry->flags & IN_FLIGHT_VOID) != 0);
	}
	assert_true((sent->entries[0].flags & IN_FLIGHT_VOID) != 0);
	(void)loop_drain(&loop);
	sender_stop(&loop.senders[0]);
	traffic_destroy(traffic);
	tear_down();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_under_way_is_received_though_it_cannot_be_written),
		cmocka_unit_test(test_what_stood_in_the_ring_when_the_time_was_over_is_received),
		cmocka_unit_test(test_what_is_lost_is_waited_for_until_the_time_is_over),
		cmocka_unit_test(
			test_what_is_not_back_by_its_deadline_is_told_lost_before_the_ring_comes_round),
		cmocka_unit_test(test_what_can_have_found_the_ring_full_is_known),
		cmocka_unit_test(test_what_came_long_after_its_deadline_says_nothing_of_the_ring),
		cmocka_unit_test(test_what_was_due_before_the_loop_began_is_void),
	};

	env_start(argv[0]);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	env_stop();
	return failed;
}
