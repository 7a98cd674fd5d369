#include "gap_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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

static void test_folder_that_is_not_there_is_reported(void **state)
{
	const struct record_file_header header = {0};
	const struct clock_point last = {0};
	struct gap_log log = make(1);

	assert_int_equal(gap_log_write(&log, "/nonexistent/gaps.bin", &header, &last), -ENOENT);
	gap_log_destroy(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iteration_within_the_limit_is_no_gap),
		cmocka_unit_test(test_iteration_longer_than_its_work_is_a_gap),
		cmocka_unit_test(test_full_log_counts_on),
		cmocka_unit_test(test_file_holds_what_was_kept),
		cmocka_unit_test(test_folder_that_is_not_there_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
