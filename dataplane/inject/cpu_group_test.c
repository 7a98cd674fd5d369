// Over folders of files that look like control groups: the kernel's own need root.

#include "cpu_group.h"
#include "error.h"
#include "pid_namespace.h"
#include "test_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct tree {
	char folder[64], mounts[96];
};

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[CPU_GROUP_PATH_LEN + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void read_file(const char *folder, const char *name, char *text, size_t len)
{
	char path[CPU_GROUP_PATH_LEN + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, (int)len, file));
	assert_int_equal(fclose(file), 0);
}

static void make_tree(struct tree *tree, const char *type, const char *options)
{
	char line[256];

	snprintf(tree->folder, sizeof(tree->folder), "%s/XXXXXX", test_folder);
	assert_non_null(mkdtemp(tree->folder));
	snprintf(line, sizeof(line), "sys /sys sysfs rw 0 0\ncgroup %s %s %s 0 0\n", tree->folder,
		type, options);
	write_file(tree->folder, "mounts", line);
	snprintf(tree->mounts, sizeof(tree->mounts), "%s/mounts", tree->folder);
}

// As the kernel does, where they are set: who is moved leaves this group, or forgets what it was
// bound to. Before glibc's (--wrap).
static const char *left_group;
static pid_t unbound;
static cpu_set_t all_cores;
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	static char text[1 << 14];
	char pid[16];

	if (unbound != 0)
		assert_int_equal(sched_setaffinity(unbound, sizeof(all_cores), &all_cores), 0);
	if (left_group == NULL)
		return __real_write(fd, data, len);
	snprintf(pid, sizeof(pid), "%.*s\n", (int)len, (const char *)data);
	FILE *file = fopen(left_group, "r+e");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	char *line = strstr(text, pid);
	if (line != NULL) {
		memmove(line, line + strlen(pid), strlen(line + strlen(pid)) + 1);
		rewind(file);
		assert_true(fputs(text, file) >= 0);
		assert_int_equal(ftruncate(fileno(file), (off_t)strlen(text)), 0);
	}
	assert_int_equal(fclose(file), 0);
	return (ssize_t)len;
}

// The PID of a process that has ended.
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void version_1_is_limited_by_two_files(void **state)
{
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};
	char text[64];
	uint64_t ns = 0;

	make_tree(&tree, "cgroup", "rw,cpu,cpuacct");
	assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);
	write_file(cpu_group_path(group), "cpu.cfs_period_us", "100000\n");
	write_file(cpu_group_path(group), "cpu.cfs_quota_us", "-1\n");
	write_file(cpu_group_path(group), "cpu.stat",
		"nr_periods 3\nnr_throttled 1\nthrottled_time 4711\n");

	assert_int_equal(cpu_group_limit(group, 1000), 0);

	read_file(cpu_group_path(group), "cpu.cfs_quota_us", text, sizeof(text));
	assert_int_equal(strncmp(text, "1000", 4), 0);
	read_file(cpu_group_path(group), "cpu.cfs_period_us", text, sizeof(text));
	assert_int_equal(atoi(text), 1000000);
	assert_int_equal(cpu_group_throttled_ns(group, &ns), 0);
	assert_int_equal(ns, 4711);
	cpu_group_destroy(group, &error);
}

static void version_2_is_limited_by_one_file(void **state)
{
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};
	char text[64];
	uint64_t ns = 0;

	make_tree(&tree, "cgroup2", "rw,nsdelegate");
	write_file(tree.folder, "cgroup.subtree_control", "cpuset cpu io\n");
	assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);
	write_file(cpu_group_path(group), "cpu.max", "max 100000\n");
	write_file(cpu_group_path(group), "cpu.stat", "usage_usec 1\nthrottled_usec 12\n");

	assert_int_equal(cpu_group_limit(group, 1000), 0);

	read_file(cpu_group_path(group), "cpu.max", text, sizeof(text));
	assert_int_equal(strncmp(text, "1000 1000000", 12), 0);
	assert_int_equal(cpu_group_throttled_ns(group, &ns), 0);
	assert_int_equal(ns, 12000);
	cpu_group_destroy(group, &error);
}

// A victim may poll on all of them.
static void without_a_limit_every_cpu_may_be_used_all_the_time(void **state)
{
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};
	char text[64];

	make_tree(&tree, "cgroup", "rw,cpu");
	assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);
	write_file(cpu_group_path(group), "cpu.cfs_period_us", "100000\n");
	write_file(cpu_group_path(group), "cpu.cfs_quota_us", "1000\n");

	assert_int_equal(cpu_group_unlimit(group), 0);

	read_file(cpu_group_path(group), "cpu.cfs_quota_us", text, sizeof(text));
	long quota_us = strtol(text, NULL, 10);
	read_file(cpu_group_path(group), "cpu.cfs_period_us", text, sizeof(text));
	assert_true(quota_us > sysconf(_SC_NPROCESSORS_CONF) * strtol(text, NULL, 10));
	cpu_group_destroy(group, &error);
}

static void no_cpu_controller_is_said_with_its_remedy(void **state)
{
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};

	make_tree(&tree, "cgroup2", "rw");
	write_file(tree.folder, "cgroup.subtree_control", "cpuset io\n");

	assert_true(cpu_group_create(&group, tree.mounts, &error) < 0);
	assert_non_null(strstr(error.text, "subtree_control"));
	assert_null(group);
}

static void groups_of_the_dead_are_removed_and_no_others(void **state)
{
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};
	char old[128], dead[160], alive[160], other[128], unknown[160];
	pid_t pid = dead_pid();
	uint64_t ours = pid_namespace();

	make_tree(&tree, "cgroup", "rw,cpu");
	snprintf(old, sizeof(old), "%s/taut-inject-%d", tree.folder, pid);
	snprintf(dead, sizeof(dead), "%s-%" PRIu64, old, ours);
	snprintf(alive, sizeof(alive), "%s/taut-inject-%d-%" PRIu64, tree.folder, getppid(), ours);
	snprintf(other, sizeof(other), "%s/system.slice", tree.folder);
	snprintf(unknown, sizeof(unknown), "%s-%" PRIu64, old, ours + 1);
	assert_int_equal(mkdir(old, 0755) | mkdir(dead, 0755) | mkdir(alive, 0755), 0);
	assert_int_equal(mkdir(other, 0755) | mkdir(unknown, 0755), 0);

	assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);

	assert_int_not_equal(access(old, F_OK), 0);
	assert_int_not_equal(access(dead, F_OK), 0);
	assert_int_equal(access(alive, F_OK), 0);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(access(unknown, F_OK), 0); // of another container, maybe alive
	char own[128];
	snprintf(own, sizeof(own), "%s", cpu_group_path(group));
	assert_int_equal(access(own, F_OK), 0);
	cpu_group_destroy(group, &error);
	assert_int_not_equal(access(own, F_OK), 0);
}

static void who_is_left_in_a_group_of_the_dead_leaves_it_without_a_quota(void **state)
{
	static const struct {
		const char *type, *options, *file, *quota, *unlimited;
	} versions[] = {
		{"cgroup", "rw,cpu", "cpu.cfs_quota_us", "1000\n", "-1"},
		{"cgroup2", "rw", "cpu.max", "1000 1000000\n", "max"},
	};

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct cpu_group *group;
		struct tree tree;
		struct error error = {0};
		char dead[128], text[64];
		make_tree(&tree, versions[i].type, versions[i].options);
		write_file(tree.folder, "cgroup.subtree_control", "cpu\n");
		write_file(tree.folder, "cgroup.procs", "1\n");
		snprintf(dead, sizeof(dead), "%s/taut-inject-%d", tree.folder, dead_pid());
		assert_int_equal(mkdir(dead, 0755), 0);
		write_file(dead, "cgroup.procs", "4711\n");
		write_file(dead, versions[i].file, versions[i].quota);

		assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);

		read_file(dead, versions[i].file, text, sizeof(text));
		assert_memory_equal(text, versions[i].unlimited, strlen(versions[i].unlimited));
		read_file(tree.folder, "cgroup.procs", text, sizeof(text));
		assert_int_equal(atoi(text), 4711);
		cpu_group_destroy(group, &error);
	}
}

static void however_many_are_left_in_a_group_of_the_dead_all_leave_it(void **state)
{
	enum { PIDS = 1000, FIRST = 100000 };
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};
	struct stat status;
	char dead[128], procs[160], text[PIDS * 7 + 1];

	make_tree(&tree, "cgroup", "rw,cpu");
	write_file(tree.folder, "cgroup.procs", "1\n");
	snprintf(dead, sizeof(dead), "%s/taut-inject-%d", tree.folder, dead_pid());
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dead);
	assert_int_equal(mkdir(dead, 0755), 0);
	for (int i = 0; i < PIDS; i++)
		snprintf(text + i * 7, 8, "%d\n", FIRST + i);
	write_file(dead, "cgroup.procs", text);
	left_group = procs;

	assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);

	left_group = NULL;
	assert_int_equal(stat(procs, &status), 0);
	assert_int_equal(status.st_size, 0);
	cpu_group_destroy(group, &error);
}

// Before Linux 6.2 a cpuset does, and of version 2 a process changes it with its group.
static void who_is_moved_keeps_its_cores(void **state)
{
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};
	cpu_set_t one, now;
	int core = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all_cores), &all_cores), 0);
	while (!CPU_ISSET((size_t)core, &all_cores))
		core++;
	CPU_ZERO(&one);
	CPU_SET((size_t)core, &one);
	make_tree(&tree, "cgroup2", "rw");
	write_file(tree.folder, "cgroup.subtree_control", "cpuset cpu\n");
	assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);
	write_file(cpu_group_path(group), "cgroup.procs", "");
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			(void)pause();
	assert_int_equal(sched_setaffinity(pid, sizeof(one), &one), 0);
	unbound = pid;

	int err = cpu_group_add(group, pid);

	unbound = 0;
	if (err == 0)
		err = sched_getaffinity(pid, sizeof(now), &now);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(err, 0);
	assert_true(CPU_EQUAL(&now, &one));
	cpu_group_destroy(group, &error);
}

// A process as /proc has it: with its first thread in one group, its second in another.
static void make_process(const char *proc, pid_t pid, const char *group, const char *other)
{
	static const char *const folders[] = {"", "/task", "/task/1", "/task/2"};
	char path[128], line[64];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%d%s", proc, pid, folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
		snprintf(line, sizeof(line), "0::%s\n", i < 3 ? group : other);
		write_file(path, "cgroup", line);
	}
}

static void who_cannot_go_home_is_said_with_both_places(void **state)
{
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};
	char home[128], text[64], own[128], line[256];
	pid_t pid = dead_pid();

	make_tree(&tree, "cgroup2", "rw");
	write_file(tree.folder, "cgroup.subtree_control", "cpu\n");
	snprintf(home, sizeof(home), "%s/box.scope", tree.folder);
	assert_int_equal(mkdir(home, 0755), 0);
	write_file(home, "cgroup.procs", "");
	make_process(tree.folder, pid, "/box.scope", "/box.scope");
	assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);
	snprintf(own, sizeof(own), "%s", cpu_group_path(group));
	write_file(own, "cgroup.procs", "");

	assert_int_equal(cpu_group_borrow(group, pid, tree.folder, &error), 0);
	read_file(home, "cgroup.procs", text, sizeof(text));
	pid_t keeper = atoi(text);
	assert_int_equal(kill(keeper, 0), 0);
	assert_int_equal(cpu_group_destroy(group, &error), -EBUSY);

	snprintf(line, sizeof(line), "%s: process %d is left in it", own, pid);
	assert_non_null(strstr(error.text, line));
	snprintf(line, sizeof(line), "echo %d > %s/cgroup.procs", pid, home);
	assert_non_null(strstr(error.text, line));
	assert_int_not_equal(kill(keeper, 0), 0);
}

static void threads_in_different_groups_are_refused(void **state)
{
	struct cpu_group *group;
	struct tree tree;
	struct error error = {0};
	pid_t pid = dead_pid();

	make_tree(&tree, "cgroup2", "rw");
	write_file(tree.folder, "cgroup.subtree_control", "cpu\n");
	make_process(tree.folder, pid, "/emulator", "/vcpu0");
	assert_int_equal(cpu_group_create(&group, tree.mounts, &error), 0);

	assert_true(cpu_group_borrow(group, pid, tree.folder, &error) < 0);

	assert_non_null(strstr(error.text, "threads are in different control groups"));
	assert_non_null(strstr(error.text, "/vcpu0"));
	assert_int_equal(cpu_group_destroy(group, &error), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_is_limited_by_two_files),
		cmocka_unit_test(version_2_is_limited_by_one_file),
		cmocka_unit_test(without_a_limit_every_cpu_may_be_used_all_the_time),
		cmocka_unit_test(no_cpu_controller_is_said_with_its_remedy),
		cmocka_unit_test(groups_of_the_dead_are_removed_and_no_others),
		cmocka_unit_test(who_is_left_in_a_group_of_the_dead_leaves_it_without_a_quota),
		cmocka_unit_test(however_many_are_left_in_a_group_of_the_dead_all_leave_it),
		cmocka_unit_test(who_is_moved_keeps_its_cores),
		cmocka_unit_test(who_cannot_go_home_is_said_with_both_places),
		cmocka_unit_test(threads_in_different_groups_are_refused),
	};

	return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
