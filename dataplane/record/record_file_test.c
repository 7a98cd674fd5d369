#include "record_file.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/record_file_test.XXXXXX";

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_nothing_is_appended_behind_a_record_that_is_written_in_part(void **state)
{
	static const struct packet_record records[8];
	static const struct clock_point last = {.tsc = 7};
	const off_t room = (off_t)(sizeof(struct record_file_header) + 10 * sizeof(records[0]) + 9);
	struct record_file file;
	struct record_file_header header;
	struct stat found;

	assert_int_equal(record_file_create(&file, path, RECORD_PACKET,
				 &(struct record_file_header){.run_id = 42}),
		0);
	limit_file_size((rlim_t)room);
	assert_int_equal(record_file_append(&file, records, 8), 0);
	assert_int_equal(record_file_append(&file, records, 8), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(record_file_append(&file, records, 8), -EFBIG);
	assert_int_equal(record_file_close(&file, &last), -EFBIG);

	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(found.st_size, room);
	FILE *written = fopen(path, "rb");
	assert_non_null(written);
	assert_int_equal(fread(&header, sizeof(header), 1, written), 1);
	fclose(written);
	assert_int_equal(header.n_records, 8);
	assert_int_equal(header.last.tsc, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_appended_behind_a_record_that_is_written_in_part),
	};
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	signal(SIGXFSZ, SIG_IGN);
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return n_failed;
}
