#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "clock.h"
#include "forwarder_test_env.h"
#include "probe_format.h"
#include "stamp_log.h"

enum {
	RUN_ID = 7,
	FRAME_LEN = 60,
	RING_RECORDS = 1 << 20,
	MOST = 64, // packets that a look could return
};

static char path[] = "/tmp/stamp_log_test.XXXXXX";

static struct stamp_log *make(uint64_t every)
{
	static struct stamp_log log;
	const struct stamp_log_config config = {
		.path = path,
		.every = every,
		.header = {.nominal_tsc_hz = TEST_TSC_HZ, .first = {.tsc = 5}},
		.core = -1,
	};

	assert_int_equal(stamp_log_create(&log, &config), 0);
	return &log;
}

// probe_format.h, in the order of its fields.
static void write_probe(struct rte_mbuf *pkt, uint64_t seq, uint8_t direction)
{
	const uint64_t id = seq | (uint64_t)direction << PROBE_DIRECTION_BIT;
	const uint64_t low = PROBE_MAGIC | (uint64_t)RUN_ID << 16 | id << 48;
	const uint32_t high = (uint32_t)(id >> 16);
	uint8_t *probe = rte_pktmbuf_mtod_offset(pkt, uint8_t *, PROBE_OFFSET);

	memcpy(probe, &low, sizeof(low));
	memcpy(probe + sizeof(low), &high, sizeof(high));
}

static void make_probes(struct rte_mbuf **pkts, uint16_t n, uint64_t first_seq)
{
	assert_int_equal(rte_pktmbuf_alloc_bulk(test_pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++) {
		memset(rte_pktmbuf_append(pkts[i], FRAME_LEN), 0, FRAME_LEN);
		write_probe(pkts[i], first_seq + i, 1);
	}
}

// What the closed file holds, at most n records. Returns how many there are.
static size_t read_stamps(struct stamp_record *records, size_t n)
{
	FILE *file = fopen(path, "rb");
	struct record_file_header header;

	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	assert_int_equal(header.kind, RECORD_STAMP);
	assert_int_equal(header.record_size, sizeof(*records));
	size_t n_read = fread(records, sizeof(*records), n, file);
	fclose(file);
	assert_int_equal(header.n_records, n_read);
	return n_read;
}

static void close_log(struct stamp_log *log)
{
	const struct clock_point last = {.tsc = 9};

	assert_int_equal(stamp_log_close(log, 5, &last), 0);
	assert_int_equal(log->not_kept, 0);
}

static void test_packet_is_stamped_where_it_comes_and_where_it_leaves(void **state)
{
	const uint64_t seq = (UINT64_C(1) << 40) + 3; // neither half of the number is 0
	struct stamp_log *log = make(1);
	struct stamp_record found[4];
	struct rte_mbuf *pkts[1];

	make_probes(pkts, 1, seq);
	uint64_t before_tsc = clock_tsc();
	stamp_log_looked(log, 0, pkts, 1, MOST, before_tsc);
	uint64_t between_tsc = clock_tsc();
	uint64_t sent_tsc = stamp_log_sending(log, pkts, 1);
	stamp_log_sent(log, 1, sent_tsc);
	close_log(log);

	assert_int_equal(read_stamps(found, 4), 2);
	assert_int_equal(log->n, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(found[i].seq, seq);
		assert_int_equal(found[i].direction, 1);
		assert_int_equal(found[i].run_id, RUN_ID);
	}
	assert_int_equal(found[0].event, STAMP_RECEIVED);
	assert_in_range(found[0].tsc, before_tsc, between_tsc);
	assert_int_equal(found[1].event, STAMP_SENT);
	assert_int_equal(found[1].tsc, sent_tsc);
	assert_in_range(sent_tsc, between_tsc, clock_tsc());
	rte_pktmbuf_free_bulk(pkts, 1);
	assert_nothing_leaked();
}

static void test_frames_that_are_not_the_generators_are_left_alone(void **state)
{
	struct stamp_log *log = make(1);
	struct stamp_record found[1];
	struct rte_mbuf *pkts[3];

	make_probes(pkts, 3, 0);
	*rte_pktmbuf_mtod_offset(pkts[0], uint8_t *, PROBE_OFFSET) ^= 1; // another magic
	rte_pktmbuf_trim(pkts[1], FRAME_LEN - PROBE_OFFSET - PROBE_ID_LEN + 1); // cut short
	rte_pktmbuf_trim(pkts[2], FRAME_LEN); // empty
	stamp_log_looked(log, 0, pkts, 3, MOST, clock_tsc());
	stamp_log_sent(log, 3, stamp_log_sending(log, pkts, 3));
	close_log(log);

	assert_int_equal(read_stamps(found, 1), 0);
	rte_pktmbuf_free_bulk(pkts, 3);
	assert_nothing_leaked();
}

static void test_packet_that_the_port_refused_was_not_sent(void **state)
{
	struct stamp_log *log = make(1);
	struct stamp_record found[8];
	struct rte_mbuf *pkts[4];

	make_probes(pkts, 4, 0);
	*rte_pktmbuf_mtod_offset(pkts[0], uint8_t *, PROBE_OFFSET) ^= 1;
	stamp_log_sent(log, 2, stamp_log_sending(log, pkts, 4));
	close_log(log);

	// Of the two that the port took the first one is not the generator's.
	assert_int_equal(read_stamps(found, 8), 1);
	assert_int_equal(found[0].seq, 1);
	rte_pktmbuf_free_bulk(pkts, 4);
	assert_nothing_leaked();
}

// Mark the packets of [0, n) that a log chooses.
static void choose(uint64_t every, bool *is_chosen, uint64_t n)
{
	static struct stamp_record found[1 << 13];
	struct stamp_log *log = make(every);
	struct rte_mbuf *pkts[32];

	for (uint64_t seq = 0; seq < n; seq += 32) {
		make_probes(pkts, 32, seq);
		stamp_log_looked(log, 0, pkts, 32, MOST, clock_tsc());
		rte_pktmbuf_free_bulk(pkts, 32);
	}
	close_log(log);
	memset(is_chosen, 0, n);
	size_t n_found = read_stamps(found, sizeof(found) / sizeof(found[0]));
	for (size_t i = 0; i < n_found; i++)
		is_chosen[found[i].seq] = true;
}

static void test_one_in_so_many_is_chosen_wherever_it_stands_in_a_burst(void **state)
{
	enum { N = 1 << 13, BURST = 32, EVERY = 16 };
	static bool all[N], few[N], fewer[N];
	unsigned int n = 0, by_place[BURST] = {0};

	choose(1, all, N);
	choose(EVERY, few, N);
	choose(3 * EVERY, fewer, N);

	for (int i = 0; i < N; i++) {
		assert_true(all[i]);
		assert_true(few[i] || !fewer[i]); // hops that differ have packets in common
		n += few[i];
		by_place[i % BURST] += few[i];
	}
	assert_in_range(n, N / EVERY - 2, N / EVERY + 2);
	for (int place = 0; place < BURST; place++)
		assert_in_range(by_place[place], n / BURST / 2, n / BURST * 2);
}

static void test_window_starts_at_the_last_look_that_left_nothing(void **state)
{
	struct stamp_log *log = make(1);
	struct stamp_record found[3];
	struct rte_mbuf *pkts[3];

	make_probes(pkts, 3, 0);
	uint64_t first_tsc = clock_tsc();
	stamp_log_looked(log, 1, NULL, 0, MOST, first_tsc);
	stamp_log_looked(log, 0, NULL, 0, MOST, clock_tsc()); // another port
	stamp_log_looked(log, 1, &pkts[0], 1, 1, clock_tsc()); // more was left
	uint64_t third_tsc = clock_tsc();
	stamp_log_looked(log, 1, &pkts[1], 1, MOST, third_tsc);
	stamp_log_looked(log, 1, &pkts[2], 1, MOST, clock_tsc());
	close_log(log);

	assert_int_equal(read_stamps(found, 3), 3);
	assert_int_equal(found[0].tsc - found[0].window, first_tsc);
	assert_int_equal(found[1].tsc - found[1].window, first_tsc);
	assert_int_equal(found[2].tsc - found[2].window, third_tsc);
	rte_pktmbuf_free_bulk(pkts, 3);
	assert_nothing_leaked();
}

static void test_first_window_has_no_start(void **state)
{
	struct stamp_log *log = make(1);
	struct stamp_record found[1];
	struct rte_mbuf *pkts[1];

	make_probes(pkts, 1, 0);
	stamp_log_looked(log, 0, pkts, 1, MOST, clock_tsc());
	close_log(log);

	assert_int_equal(read_stamps(found, 1), 1);
	assert_int_equal(found[0].window, UINT32_MAX);
	rte_pktmbuf_free_bulk(pkts, 1);
	assert_nothing_leaked();
}

static void test_stamps_that_no_disk_took_are_counted(void **state)
{
	const struct clock_point last = {.tsc = 9};
	struct rlimit old, small = {.rlim_cur = 1000};
	struct stamp_log *log = make(1);
	struct rte_mbuf *pkts[32];

	make_probes(pkts, 32, 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	stamp_log_looked(log, 0, pkts, 32, MOST, clock_tsc());
	int err = stamp_log_close(log, 0, &last);
	setrlimit(RLIMIT_FSIZE, &old);

	assert_int_equal(err, -EFBIG);
	assert_int_equal(log->n, 32);
	assert_int_equal(log->not_kept, 32);
	rte_pktmbuf_free_bulk(pkts, 32);
	assert_nothing_leaked();
}

static void test_memory_is_the_rings_and_what_it_does_not_hold_is_counted(void **state)
{
	const struct clock_point last = {.tsc = 9};
	struct stamp_log *log = make(1);
	struct rte_mbuf *pkts[32];

	make_probes(pkts, 32, 0);
	// As if the writer had stood still all the time: it has emptied nothing.
	log->writer->n_produced = RING_RECORDS - 16;
	log->writer->n_known_free_until = RING_RECORDS;
	stamp_log_sent(log, 32, stamp_log_sending(log, pkts, 32));

	assert_int_equal(log->writer->mask + 1, RING_RECORDS);
	assert_int_equal(log->writer->n_lost, 16);
	assert_int_equal(stamp_log_close(log, 0, &last), 0);
	rte_pktmbuf_free_bulk(pkts, 32);
	assert_nothing_leaked();
}

static void test_log_without_a_file_is_off(void **state)
{
	const struct stamp_log_config config = {.every = 1, .core = -1};
	struct stamp_log log;

	assert_int_equal(stamp_log_create(&log, &config), 0);
	assert_false(stamp_log_is_on(&log));
	stamp_log_destroy(&log);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packet_is_stamped_where_it_comes_and_where_it_leaves),
		cmocka_unit_test(test_frames_that_are_not_the_generators_are_left_alone),
		cmocka_unit_test(test_packet_that_the_port_refused_was_not_sent),
		cmocka_unit_test(test_one_in_so_many_is_chosen_wherever_it_stands_in_a_burst),
		cmocka_unit_test(test_window_starts_at_the_last_look_that_left_nothing),
		cmocka_unit_test(test_first_window_has_no_start),
		cmocka_unit_test(test_stamps_that_no_disk_took_are_counted),
		cmocka_unit_test(test_memory_is_the_rings_and_what_it_does_not_hold_is_counted),
		cmocka_unit_test(test_log_without_a_file_is_off),
	};

	test_env_start(argv[0]);
	int fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	test_env_stop();
	return failed;
}
