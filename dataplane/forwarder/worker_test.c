// The whole loop between ring ports: what lies in one is found in its peer when the loop ends.

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "clock.h"
#include "forwarder_test_env.h"
#include "worker.h"

static const volatile int never;

// Ports ring:p0, ring:p1, ... and one burst of packets in the first.
static struct worker *set_up(uint16_t n_ports, const char *transmit, const char *const *nfs,
	size_t n_nfs, uint16_t n_packets)
{
	const struct gap_log_config gaps = {.threshold_ticks = UINT64_MAX / 2, .capacity = 1};
	const struct nf_env env = {.tsc_hz = TEST_TSC_HZ, .n_ports = n_ports, .hold_max = 64};
	struct worker *worker = rte_zmalloc(NULL, sizeof(*worker), RTE_CACHE_LINE_SIZE);
	struct rte_mbuf *pkts[64];
	char name[16];

	worker->n_ports = n_ports;
	for (uint16_t i = 0; i < n_ports; i++) {
		snprintf(name, sizeof(name), "ring:p%u", i);
		worker->ports[i] = worker->egress[i].port = test_port(name);
	}
	worker->burst = 32;
	worker->stop = &never;
	assert_int_equal(gap_log_create(&worker->gaps, &gaps), 0);
	assert_int_equal(transmit_init(&worker->transmit, transmit, worker->egress, n_ports,
				 TEST_TSC_HZ, &test_error),
		0);
	assert_int_equal(pipeline_init(&worker->pipeline, nfs, n_nfs, &env, &test_error), 0);
	test_packets(pkts, n_packets);
	assert_int_equal(port_tx(worker->ports[0], pkts, n_packets), n_packets);
	return worker;
}

// end_tsc = 0 has passed already: exactly one iteration, port 0 before port 1.
static void run_once(struct worker *worker)
{
	worker->end_tsc = 0;
	worker_run(worker);
}

static void tear_down(struct worker *worker)
{
	transmit_fini(&worker->transmit);
	pipeline_fini(&worker->pipeline);
	for (uint16_t i = 0; i < worker->n_ports; i++)
		port_close(worker->ports[i]);
	gap_log_destroy(&worker->gaps);
	rte_free(worker);
	assert_nothing_leaked();
}

static void test_lone_port_sends_back_to_itself(void **state)
{
	struct worker *worker = set_up(1, "eager", NULL, 0, 20);

	run_once(worker);

	assert_int_equal(worker->n_iterations, 1);
	assert_int_equal(worker->n_rx[0], 20);
	assert_int_equal(worker->egress[0].n_tx, 20);
	assert_int_equal(test_drain(worker->ports[0], 0), 20);
	tear_down(worker);
}

static void test_packets_cross_to_the_other_port_of_the_pair(void **state)
{
	const char *const null_function[] = {"null"};

	for (size_t n_nfs = 0; n_nfs < 2; n_nfs++) {
		struct worker *worker = set_up(4, "eager", null_function, n_nfs, 20);

		run_once(worker);

		// Port 1 was polled after port 0 had sent to it: a ring port receives what it
		// sent, so the packets are back in port 0.
		assert_int_equal(worker->egress[1].n_tx, 20);
		assert_int_equal(worker->egress[0].n_tx, 20);
		assert_int_equal(worker->egress[2].n_tx + worker->egress[3].n_tx, 0);
		assert_int_equal(test_drain(worker->ports[0], 0), 20);
		tear_down(worker);
	}
}

static void test_network_function_chooses_the_port(void **state)
{
	const char *const nfs[] = {"bridge:a=0,b=2"};
	struct worker *worker = set_up(3, "eager", nfs, 1, 20);

	run_once(worker);

	// 0 -> 2 and, polled last, 2 -> 0.
	assert_int_equal(worker->egress[2].n_tx, 20);
	assert_int_equal(worker->egress[1].n_tx, 0);
	assert_int_equal(test_drain(worker->ports[0], 0), 20);
	tear_down(worker);
}

static void test_dropped_packets_are_freed_and_counted(void **state)
{
	const char *const nfs[] = {"bridge:a=1,b=2"};
	struct worker *worker = set_up(3, "eager", nfs, 1, 20);

	run_once(worker);

	assert_int_equal(worker->pipeline.stages[0].n_in, 20);
	assert_int_equal(worker->pipeline.stages[0].n_dropped, 20);
	tear_down(worker);
}

static void test_single_takes_one_packet_a_poll(void **state)
{
	struct worker *worker = set_up(2, "single", NULL, 0, 20);

	worker->burst = worker->transmit.ops->burst_max;
	run_once(worker);

	assert_int_equal(worker->n_rx[0], 1);
	tear_down(worker);
}

static void test_held_packets_go_through_the_functions_behind(void **state)
{
	const char *const nfs[] = {"delay:time=0", "mac_swap"};
	struct worker *worker = set_up(1, "eager", nfs, 2, 20);

	run_once(worker);

	assert_int_equal(worker->pipeline.stages[0].n_released, 20);
	assert_int_equal(worker->pipeline.stages[1].n_in, 20);
	assert_int_equal(worker->egress[0].n_tx, 20);
	tear_down(worker);
}

static void test_what_a_function_holds_at_the_end_is_freed(void **state)
{
	const char *const nfs[] = {"delay:time=1s"};
	struct worker *worker = set_up(1, "eager", nfs, 1, 20);

	run_once(worker);

	assert_int_equal(worker->egress[0].n_tx, 0);
	tear_down(worker);
}

static void test_stop_flag_set_before_the_start_ends_at_once(void **state)
{
	const volatile int now = 1;
	struct worker *worker = set_up(1, "eager", NULL, 0, 1);

	worker->stop = &now;
	worker->end_tsc = UINT64_MAX;
	worker_run(worker);

	assert_int_equal(worker->n_iterations, 0);
	tear_down(worker);
}

static void test_bad_functions_are_refused_in_one_line(void **state)
{
	static const char *const bad[][2] = {
		{"no_such", "--nf no_such: no such network function"},
		{"delay:time=5", "a duration with its unit"},
		{"bridge:b=7", "ports 0 to 1"},
		{"null:a=1", "no such option; it has none"},
		// The pool has it once: who is beside another one that holds has half of it.
		{"delay:capacity=64", "the receive pool can spare 32"},
	};
	const struct nf_env env = {.tsc_hz = TEST_TSC_HZ, .n_ports = 2, .hold_max = 64};
	struct pipeline pipeline;
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const texts[] = {"delay", bad[i][0]};
		assert_true(pipeline_memory(texts, 2, &env, &bytes, &test_error) < 0);
		if (strstr(test_error.text, bad[i][1]) == NULL)
			fail_msg("%s, before the start: %s", bad[i][0], test_error.text);
		assert_true(pipeline_init(&pipeline, texts, 2, &env, &test_error) < 0);
		if (strstr(test_error.text, bad[i][1]) == NULL)
			fail_msg("%s: %s", bad[i][0], test_error.text);
		assert_int_equal(pipeline.n_stages, 0);
	}
}

static void test_stamping_takes_nothing_from_the_packets(void **state)
{
	char path[] = "/tmp/worker_test.XXXXXX";
	const struct stamp_log_config stamps = {.path = path, .every = 1, .core = -1};
	struct worker *worker = set_up(1, "eager", NULL, 0, 20);

	close(mkstemp(path));
	assert_int_equal(stamp_log_create(&worker->stamps, &stamps), 0);
	worker->egress[0].stamps = &worker->stamps;
	uint64_t before_tsc = clock_tsc();
	run_once(worker);

	assert_int_equal(worker->egress[0].n_tx, 20);
	assert_int_equal(worker->stamps.n, 0); // none of them is the generator's
	assert_in_range(worker->stamps.arrivals[0].since_tsc, before_tsc, clock_tsc());
	assert_int_equal(test_drain(worker->ports[0], 0), 20);
	stamp_log_destroy(&worker->stamps);
	unlink(path);
	tear_down(worker);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lone_port_sends_back_to_itself),
		cmocka_unit_test(test_packets_cross_to_the_other_port_of_the_pair),
		cmocka_unit_test(test_network_function_chooses_the_port),
		cmocka_unit_test(test_dropped_packets_are_freed_and_counted),
		cmocka_unit_test(test_single_takes_one_packet_a_poll),
		cmocka_unit_test(test_held_packets_go_through_the_functions_behind),
		cmocka_unit_test(test_what_a_function_holds_at_the_end_is_freed),
		cmocka_unit_test(test_stop_flag_set_before_the_start_ends_at_once),
		cmocka_unit_test(test_stamping_takes_nothing_from_the_packets),
		cmocka_unit_test(test_bad_functions_are_refused_in_one_line),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_env_stop();
	return failed;
}
