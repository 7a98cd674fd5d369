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
#include "eal.h"
#include "loop.h"
#include "pool.h"

enum { N_MBUFS = 2047, RUN_ID = 1, N_PACKETS = 200 };

static char path[] = "/tmp/loop_test.XXXXXX";
static const volatile int never;
static struct eal eal;
static struct rte_mempool *pool;
static struct port *port;
static struct loop loop;
static struct measurement measurement;

// As the sender does it; they are due when they are sent.
static void send_packets(void)
{
	struct probe_template template;
	struct rte_mbuf *mbuf;

	probe_template_fill(&template, 64, 0);
	for (uint64_t seq = 0; seq < N_PACKETS; seq++) {
		const struct probe probe = {.seq = seq, .run_id = RUN_ID};
		const struct sent_packet packet = {
			.due_tsc = clock_tsc(), .sent_tsc = clock_tsc(), .frame_len = 64};
		mbuf = rte_pktmbuf_alloc(pool);
		assert_non_null(mbuf);
		probe_write((uint8_t *)rte_pktmbuf_append(mbuf, 64), &template, &probe, 0);
		assert_int_equal(port_tx(port, &mbuf, 1), 1);
		measurement_sent(&measurement, &packet);
	}
}

static void set_up(uint64_t timeout_tsc)
{
	const struct gap_log_config gaps = {.threshold_ticks = UINT64_MAX / 4};
	const struct measurement_config config = {
		.n_flows = 1,
		.in_flight_capacity = 1024,
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
	};
	send_packets();
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

	set_up(UINT64_MAX);
	assert_int_equal(record_writer_create(&file, &loop.writer), 0);
	atomic_store(&loop.writer->error, -ENOSPC);

	assert_int_equal(loop_drain(&loop), LOOP_COMPLETE);

	assert_int_equal(measurement.counters.matched, N_PACKETS);
	assert_int_equal(record_writer_close(loop.writer, &nothing, NULL, NULL), -ENOSPC);
	tear_down();
}

static void test_what_stood_in_the_ring_when_the_time_was_over_is_received(void **state)
{
	set_up(0);

	assert_int_equal(loop_drain(&loop), LOOP_COMPLETE);

	assert_int_equal(measurement.counters.matched, N_PACKETS);
	tear_down();
}

static void test_what_is_lost_is_waited_for_until_the_time_is_over(void **state)
{
	struct sent_packet packet = {.due_tsc = 1, .sent_tsc = 1, .frame_len = 64};

	set_up(0);
	measurement_sent(&measurement, &packet);

	assert_int_equal(loop_drain(&loop), LOOP_TIMEOUT);

	assert_int_equal(measurement.counters.matched, N_PACKETS);
	assert_int_equal(measurement_n_in_flight(&measurement), 1);
	tear_down();
}

// Exits with 77, which Meson takes for skipped, where EAL cannot start.
static void start(char *program)
{
	char no_huge[] = "--no-huge";
	char *const extra[] = {no_huge};
	const struct eal_config config = {
		.program = program,
		.core = -1,
		.memory_mb = pool_memory_mb(N_MBUFS),
		.extra = extra,
		.n_extra = 1,
	};
	struct port_spec spec;
	struct error error;

	if (eal_start(&config, &eal, &error) < 0)
		exit(77);
	pool = pool_create("test", N_MBUFS);
	if (pool == NULL)
		exit(77);
	assert_int_equal(port_spec_parse("ring:r", PORT_GENERATOR, &spec, &error), 0);
	assert_int_equal(port_open(&spec, pool, &port, &error), 0);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_under_way_is_received_though_it_cannot_be_written),
		cmocka_unit_test(test_what_stood_in_the_ring_when_the_time_was_over_is_received),
		cmocka_unit_test(test_what_is_lost_is_waited_for_until_the_time_is_over),
	};

	start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	port_close(port);
	rte_mempool_free(pool);
	eal_stop(&eal);
	return failed;
}
