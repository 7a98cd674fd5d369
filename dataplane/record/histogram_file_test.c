#include "histogram_file.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_RECORDS = HISTOGRAM_FILE_BATCH + 3 };

static char path[] = "/tmp/histogram_file_test.XXXXXX";
static const struct clock_point last = {.tsc = 7};
static struct histogram_file out;

static void create(const char *at)
{
	assert_int_equal(record_file_create(&out.file, at, RECORD_HISTOGRAM,
				 &(struct record_file_header){.run_id = 42}),
		0);
}

static void test_records_of_several_batches_are_all_there(void **state)
{
	struct histogram *histogram = histogram_array_create(1);
	struct record_file_header header;
	struct histogram_record record;

	assert_non_null(histogram);
	histogram_record(histogram, 5);
	histogram_record(histogram, 5);
	create(path);
	for (int64_t i = 0; i < N_RECORDS; i++)
		histogram_file_add(&out, &(struct histogram_record){.value_ticks = i});
	histogram_file_add_buckets(
		&out, histogram, &(struct histogram_record){.series = SERIES_INTENT});
	histogram_array_destroy(histogram, 1);
	assert_int_equal(histogram_file_close(&out, &last), 0);

	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	assert_int_equal(header.n_records, N_RECORDS + 1);
	for (int64_t i = 0; i < N_RECORDS; i++) {
		assert_int_equal(fread(&record, sizeof(record), 1, file), 1);
		assert_int_equal(record.value_ticks, i);
	}
	assert_int_equal(fread(&record, sizeof(record), 1, file), 1);
	fclose(file);
	assert_int_equal(record.value_ticks, 5);
	assert_int_equal(record.width_ticks, 1);
	assert_int_equal(record.count, 2);
	assert_int_equal(record.series, SERIES_INTENT);
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_an_append_that_failed_on_the_way_is_told_at_the_end(void **state)
{
	create(path);
	limit_file_size(sizeof(struct record_file_header) + sizeof(struct histogram_record));
	for (int64_t i = 0; i < N_RECORDS; i++)
		histogram_file_add(&out, &(struct histogram_record){.value_ticks = i});
	limit_file_size(RLIM_INFINITY);

	assert_int_equal(histogram_file_close(&out, &last), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_of_several_batches_are_all_there),
		cmocka_unit_test(test_an_append_that_failed_on_the_way_is_told_at_the_end),
	};
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	signal(SIGXFSZ, SIG_IGN);
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return n_failed;
}
