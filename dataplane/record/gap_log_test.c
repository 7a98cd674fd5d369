#include "gap_log.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { RING_RECORDS = 1 << 20 };

static char stream_path[] = "/tmp/gap_log_stream_test.XXXXXX";

static struct gap_log make(size_t capacity)
{
	const struct gap_log_config config = {
		.threshold_ticks = 100,
		.per_packet_ticks = 10,
		.thread = GAP_FORWARDER,
		.capacity = capacity,
	};
	struct gap_log log;

	assert_int_equal(gap_log_create(&log, &config), 0);
	return log;
}

static void test_iteration_within_the_limit_is_no_gap(void **state)
{
	struct gap_log log = make(4);

	assert_false(gap_log_check(&log, 1000, 1100, 0));
	assert_false(gap_log_check(&log, 1000, 1420, 32));

	assert_int_equal(log.n, 0);
	gap_log_destroy(&log);
}

static void test_iteration_longer_than_its_work_is_a_gap(void **state)
{
	struct gap_log log = make(4);

	assert_true(gap_log_check(&log, 1000, 1101, 0));
	assert_true(gap_log_check(&log, 2000, 2421, 32));

	assert_int_equal(log.n, 2);
	assert_int_equal(log.total_ticks, 101 + 421);
	assert_int_equal(log.max_ticks, 421);
	assert_int_equal(log.records[1].start_tsc, 2000);
	assert_int_equal(log.records[1].n_packets, 32);
	gap_log_destroy(&log);
}

static void test_work_is_counted_where_it_was_no_gap(void **state)
{
	struct gap_log log = make(4);

	gap_log_check(&log, 1000, 1090, 0);
	gap_log_check(&log, 2000, 2110, 1);
	gap_log_check(&log, 3000, 3400, 32);
	gap_log_check(&log, 4000, 4421, 32);

	assert_int_equal(log.work_packets, 33);
	assert_int_equal(log.work_ticks, 110 + 400);
	gap_log_destroy(&log);
}

static void test_full_log_counts_on(void **state)
{
	struct gap_log log = make(2);

	for (uint64_t i = 0; i < 5; i++)
		gap_log_check(&log, 0, 1000 + i, 0);

	assert_int_equal(log.n, 5);
	assert_int_equal(log.not_logged, 3);
	assert_int_equal(gap_log_kept(&log), 2);
	assert_int_equal(log.max_ticks, 1004);
	assert_int_equal(log.records[1].end_tsc, 1001);
	gap_log_destroy(&log);
}

static void test_file_holds_what_was_kept(void **state)
{
	char path[] = "/tmp/gap_log_test.XXXXXX";
	const struct record_file_header header = {.thread = "forwarder"};
	const struct clock_point last = {.tsc = 9};
	struct gap_log log = make(2);
	struct record_file_header read_header;
	struct gap_record read_record;

	close(mkstemp(path));
	gap_log_check(&log, 5, 500, 3);
	assert_int_equal(gap_log_write(&log, path, &header, &last), 0);

	FILE *file = fopen(path, "rb");
	assert_int_equal(fread(&read_header, sizeof(read_header), 1, file), 1);
	assert_int_equal(fread(&read_record, sizeof(read_record), 1, file), 1);
	assert_int_equal(fread(&read_record, sizeof(read_record), 1, file), 0);
	fclose(file);
	assert_int_equal(read_header.kind, RECORD_GAP);
	assert_int_equal(read_header.n_records, 1);
	assert_int_equal(read_header.last.tsc, 9);
	assert_int_equal(read_record.end_tsc, 500);
	assert_int_equal(read_record.thread, GAP_FORWARDER);
	unlink(path);
	gap_log_destroy(&log);
}

static void test_log_without_a_place_counts_only(void **state)
{
	struct gap_log log = make(0);

	gap_log_check(&log, 0, 1000, 0);

	assert_int_equal(log.n, 1);
	assert_int_equal(log.not_logged, 1);
	assert_int_equal(log.total_ticks, 1000);
	gap_log_destroy(&log);
}

static void test_folder_that_is_not_there_is_reported(void **state)
{
	const struct gap_log_config config = {
		.threshold_ticks = 1, .path = "/nonexistent/gaps.bin", .core = -1};
	const struct record_file_header header = {0};
	const struct clock_point last = {0};
	struct gap_log log = make(1);

	assert_int_equal(gap_log_write(&log, "/nonexistent/gaps.bin", &header, &last), -ENOENT);
	gap_log_destroy(&log);
	assert_int_equal(gap_log_create(&log, &config), -ENOENT);
	gap_log_destroy(&log);
}

// Its thread looks after the time in which gaps as long as the threshold could half fill the ring.
static struct gap_log make_stream(uint64_t threshold_ticks)
{
	const struct gap_log_config config = {
		.threshold_ticks = threshold_ticks,
		.thread = GAP_GENERATOR,
		.path = stream_path,
		.header = {.nominal_tsc_hz = 1000000000, .first = {.tsc = 5}},
		.core = -1,
	};
	struct gap_log log;

	assert_int_equal(gap_log_create(&log, &config), 0);
	return log;
}

// The i-th gap begins at i * 1000.
static void add_gaps(struct gap_log *log, uint64_t from, uint64_t until)
{
	for (uint64_t i = from; i < until; i++)
		gap_log_add(log, i * 1000, i * 1000 + 500, 0);
}

static struct record_file_header assert_file_counts_to(uint64_t n)
{
	FILE *file = fopen(stream_path, "rb");
	struct record_file_header header;
	struct gap_record gap;

	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(fread(&gap, sizeof(gap), 1, file), 1);
		assert_int_equal(gap.start_tsc, i * 1000);
	}
	assert_int_equal(fread(&gap, 1, 1, file), 0);
	fclose(file);
	return header;
}

static void test_stream_holds_more_gaps_than_its_ring(void **state)
{
	enum { STEP = RING_RECORDS / 8, N = 3 * RING_RECORDS };
	const struct timespec pause = {.tv_nsec = 1000000};
	const struct clock_point last = {.tsc = 9};
	struct gap_log log = make_stream(2);

	for (uint64_t i = 0; i < N; i += STEP) {
		struct record_writer *writer = log.writer;
		while (writer->n_produced + STEP > writer->n_known_free_until) {
			writer->n_known_free_until = atomic_load(&writer->tail) + RING_RECORDS;
			nanosleep(&pause, NULL);
		}
		add_gaps(&log, i, i + STEP);
	}
	assert_int_equal(gap_log_close(&log, 7, &last), 0);

	assert_int_equal(log.n, N);
	assert_int_equal(log.not_logged, 0);
	struct record_file_header header = assert_file_counts_to(N);
	assert_int_equal(header.n_records, N);
	assert_int_equal(header.epoch_tsc, 7);
	assert_int_equal(header.first.tsc, 5);
	assert_int_equal(header.last.tsc, 9);
	gap_log_destroy(&log);
}

static void test_gaps_that_find_the_ring_full_are_counted(void **state)
{
	const struct clock_point last = {.tsc = 9};
	struct gap_log log = make_stream(1000000); // its thread sleeps for a minute

	add_gaps(&log, 0, RING_RECORDS + 5);

	assert_int_equal(log.not_logged, 5);
	assert_int_equal(gap_log_close(&log, 0, &last), 0);
	assert_int_equal(log.n, RING_RECORDS + 5);
	assert_int_equal(log.not_logged, 5);
	assert_int_equal(assert_file_counts_to(RING_RECORDS).n_records, RING_RECORDS);
	gap_log_destroy(&log);
}

static void test_gaps_that_a_full_disk_did_not_take_are_not_logged(void **state)
{
	const struct clock_point last = {.tsc = 9};
	struct rlimit old, small = {.rlim_cur = 1000};
	struct gap_log log = make_stream(1000000);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	add_gaps(&log, 0, 100);
	int err = gap_log_close(&log, 0, &last);
	setrlimit(RLIMIT_FSIZE, &old);

	assert_int_equal(err, -EFBIG);
	assert_int_equal(log.n, 100);
	assert_int_equal(log.not_logged, 100);
	gap_log_destroy(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iteration_within_the_limit_is_no_gap),
		cmocka_unit_test(test_iteration_longer_than_its_work_is_a_gap),
		cmocka_unit_test(test_work_is_counted_where_it_was_no_gap),
		cmocka_unit_test(test_full_log_counts_on),
		cmocka_unit_test(test_file_holds_what_was_kept),
		cmocka_unit_test(test_log_without_a_place_counts_only),
		cmocka_unit_test(test_folder_that_is_not_there_is_reported),
		cmocka_unit_test(test_stream_holds_more_gaps_than_its_ring),
		cmocka_unit_test(test_gaps_that_find_the_ring_full_are_counted),
		cmocka_unit_test(test_gaps_that_a_full_disk_did_not_take_are_not_logged),
	};
	int fd = mkstemp(stream_path);

	if (fd >= 0)
		close(fd);
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(stream_path);
	return n_failed;
}
