// What is sent late because of a gap is void, wherever the gap lay; here into a ring port.

#include "sender.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "clock.h"
#include "ring_test_env.h"

enum {
	QUANTUM = 10000,
	THRESHOLD = 300000, // of gaps: few of the machine's own are as long
	STILL = 6000000, // 150 departures
	LATE = 1000000, // none is without a gap
	N_BEFORE = 100, // packets
	N_MOST = 20000,
};

static struct gap_watch gaps;
static struct measurement measurement;
static struct sender sender;
static struct traffic *traffic;

static bool stands_still; // the port, in its next call

static uint16_t stand_still(
	uint16_t id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, void *param)
{
	uint64_t until_tsc = clock_tsc() + STILL;

	while (stands_still && clock_tsc() < until_tsc)
		;
	stands_still = false;
	return n;
}

// As the loop does it, where another sender takes so long first. Returns the number of packets, 0
// or more, that have left.
static uint32_t run_behind(uint64_t other_ticks)
{
	struct rte_mbuf *frames[SENDER_BURST];
	uint64_t now_tsc = clock_tsc();

	gap_watch_check(&gaps, now_tsc);
	while (clock_tsc() < now_tsc + other_ticks)
		;
	uint32_t n = sender_run(&sender, now_tsc);
	uint16_t n_got = port_rx(port, frames, SENDER_BURST);
	rte_pktmbuf_free_bulk(frames, n_got);
	return n;
}

static void set_up(void)
{
	const struct gap_log_config log = {.threshold_ticks = THRESHOLD};
	const struct measurement_config config = {
		.n_flows = 1,
		.in_flight.capacity = 1024,
		.quantum_ticks = QUANTUM,
		.deadline_ticks = UINT64_MAX / 2,
		.mode = RECORD_MODE_NONE,
		.gaps = &gaps,
	};

	traffic = constant_traffic();
	assert_int_equal(gap_watch_create(&gaps, &log, 8), 0);
	assert_int_equal(measurement_init(&measurement, &config), 0);
	measurement_begin(&measurement);
	sender_init(&sender, &(struct sender_config){
				     .port = port,
				     .pool = pool,
				     .traffic = traffic,
				     .measurement = &measurement,
				     .gaps = &gaps,
				     .tsc_hz = TSC_HZ,
				     .quantum_ticks = QUANTUM,
				     .duration_ns = UINT64_MAX,
				     .count = UINT64_MAX,
			     });
	gap_watch_start(&gaps, clock_tsc());
	sender_start(&sender, clock_tsc());
}

static void tear_down(void)
{
	sender_stop(&sender);
	traffic_destroy(traffic);
	measurement_fini(&measurement);
	gap_watch_destroy(&gaps);
	assert_int_equal(rte_mempool_avail_count(pool), N_MBUFS);
}

// Of the last packet sent.
static const struct in_flight_entry *last_entry(void)
{
	const struct in_flight *sent = &measurement.in_flight;

	return &sent->entries[(sent->next_seq - 1) & sent->mask];
}

static void test_a_backlog_of_a_call_that_was_on_time_is_void(void **state)
{
	uint64_t n_late = 0, late;
	bool has_stood = false, stood;

	set_up();
	// The machine may add gaps of its own: they make the backlog longer.
	do {
		stands_still = !has_stood && measurement.counters.sent >= N_BEFORE;
		stood = stands_still;
		while (run_behind(0) == 0)
			;
		late = last_entry()->sent_tsc - last_entry()->due_tsc;
		// What the call sent that stood still was on time: the gap is known only behind it.
		if (stood || late > LATE)
			assert_true((last_entry()->flags & IN_FLIGHT_VOID) != 0);
		has_stood = has_stood || stood;
		// These were not due while the port stood still.
		n_late += late > LATE && !gap_watch_since(&gaps, last_entry()->due_tsc);
	} while (!has_stood || stood || (late > QUANTUM && measurement.counters.sent < N_MOST));

	assert_true(n_late > 10);
	tear_down();
}

static void test_a_backlog_ends_where_another_sender_goes_first(void **state)
{
	const uint64_t other_ticks = 3 * QUANTUM / 2;
	uint64_t seen_tsc = 0, n_from = 0;
	bool is_void = true;

	set_up();
	while (measurement.counters.sent <= N_BEFORE) {
		stands_still = measurement.counters.sent == N_BEFORE;
		(void)run_behind(other_ticks);
	}

	while (is_void && measurement.counters.sent < n_from + N_MOST) {
		// The machine's own gaps make the backlog longer: it is counted from the last one.
		if (gaps.last_end_tsc != seen_tsc)
			n_from = measurement.counters.sent;
		seen_tsc = gaps.last_end_tsc;
		if (run_behind(other_ticks) > 0)
			is_void = (last_entry()->flags & IN_FLIGHT_VOID) != 0;
	}

	assert_false(is_void);
	tear_down();
}

static void test_a_signal_ends_the_count_of_what_was_never_sent(void **state)
{
	static const volatile int n_signals = 1;

	set_up(); // for ever
	sender_stop(&sender);

	assert_false(sender_count_abandoned(&sender, &n_signals, 0));

	assert_true(measurement.counters.abandoned > 0);
	assert_int_equal(measurement.counters.due, measurement.counters.abandoned);
	sender.n_ready = 0; // has been freed
	tear_down();
}

// Beside others on its core for more than half of the time a sender never works a backlog off.
static void go_before_others(void)
{
	const struct sched_param param = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
		fprintf(stderr, "not before others, which may keep it too long from its core\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_backlog_of_a_call_that_was_on_time_is_void),
		cmocka_unit_test(test_a_backlog_ends_where_another_sender_goes_first),
		cmocka_unit_test(test_a_signal_ends_the_count_of_what_was_never_sent),
	};

	env_start(argv[0]);
	go_before_others();
	assert_non_null(rte_eth_add_tx_callback(port->id, 0, stand_still, NULL));
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	env_stop();
	return failed;
}
