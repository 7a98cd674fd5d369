#include "throttling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// A machine of its own: /sys of it, and /proc/PID/task/TID of one thread.
static char root[] = "/tmp/throttling_test.XXXXXX";

static const char *path_of(const char *path)
{
	static char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	return full;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path_of(path), "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static const char *const folders[] = {"/thread", "/sys", "/sys/fs", "/sys/fs/cgroup",
	"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/a",
	"/sys/fs/cgroup/cpu,cpuacct/a/b", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/c"};
static const char *const files[] = {"/thread/cgroup", "/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat",
	"/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.stat", "/sys/fs/cgroup/unified/c/cpu.stat"};

static int make_machine(void **state)
{
	if (mkdtemp(root) == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (mkdir(path_of(folders[i]), 0700) < 0)
			return -1;
	return 0;
}

static int remove_machine(void **state)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(path_of(files[i]));
	for (size_t i = sizeof(folders) / sizeof(folders[0]); i-- > 0;)
		(void)rmdir(path_of(folders[i]));
	return rmdir(root);
}

static int put_into_groups(void **state)
{
	write_file("/thread/cgroup", "4:cpu,cpuacct:/a/b\n3:cpuset:/else\n0::/c\n");
	write_file(files[1], "nr_periods 9\nnr_throttled 1\nthrottled_time 1000000\n");
	write_file(files[2], "nr_periods 9\nnr_throttled 2\nthrottled_time 2000000\n");
	write_file(files[3], "usage_usec 7\nnr_throttled 3\nthrottled_usec 3000\n");
	return 0;
}

static void assert_printed(
	const struct throttling *throttling, uint32_t thread, const char *expected)
{
	char *text = NULL;
	size_t size;
	struct json json = {.out = open_memstream(&text, &size)};

	json_object(&json, NULL);
	throttling_print(throttling, &json, thread);
	json_end(&json);
	fclose(json.out);
	assert_string_equal(text, expected);
	free(text);
}

static struct throttling *seen_once(void)
{
	struct throttling *throttling = throttling_create(root);

	assert_non_null(throttling);
	throttling_see(throttling, 7, path_of("/thread"));
	return throttling;
}

static void groups_of_both_versions_count_microseconds(void **state)
{
	struct throttling *throttling = seen_once();

	assert_printed(throttling, 7,
		"{\"cgroups\":{\"/a/b\":{\"nr_throttled\":2,\"throttled_us\":2000},"
		"\"/a\":{\"nr_throttled\":1,\"throttled_us\":1000},"
		"\"/c\":{\"nr_throttled\":3,\"throttled_us\":3000}}}");
	assert_false(throttling_knows(throttling, 8));
	assert_printed(throttling, 8, "{\"cgroups\":{}}");
	throttling_destroy(throttling);
}

static void groups_of_a_thread_that_ended_are_read_as_they_are_now(void **state)
{
	struct throttling *throttling = seen_once();

	assert_int_equal(unlink(path_of("/thread/cgroup")), 0);
	write_file(files[2], "nr_throttled 5\nthrottled_time 9000000\n");
	throttling_see(throttling, 7, path_of("/thread"));

	assert_true(throttling_knows(throttling, 7));
	assert_printed(throttling, 7,
		"{\"cgroups\":{\"/a/b\":{\"nr_throttled\":5,\"throttled_us\":9000},"
		"\"/a\":{\"nr_throttled\":1,\"throttled_us\":1000},"
		"\"/c\":{\"nr_throttled\":3,\"throttled_us\":3000}}}");
	throttling_destroy(throttling);
}

static void a_group_that_is_gone_is_said_so_and_one_that_was_left_still_counts(void **state)
{
	struct throttling *throttling = seen_once();

	assert_int_equal(unlink(path_of(files[2])), 0);
	write_file("/thread/cgroup", "4:cpu,cpuacct:/a\n");
	throttling_see(throttling, 7, path_of("/thread"));

	assert_printed(throttling, 7,
		"{\"cgroups\":{\"/a/b\":null,"
		"\"/a\":{\"nr_throttled\":1,\"throttled_us\":1000},"
		"\"/c\":{\"nr_throttled\":3,\"throttled_us\":3000}}}");
	throttling_destroy(throttling);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(groups_of_both_versions_count_microseconds, put_into_groups),
		cmocka_unit_test_setup(
			groups_of_a_thread_that_ended_are_read_as_they_are_now, put_into_groups),
		cmocka_unit_test_setup(
			a_group_that_is_gone_is_said_so_and_one_that_was_left_still_counts,
			put_into_groups),
	};

	return cmocka_run_group_tests(tests, make_machine, remove_machine);
}
