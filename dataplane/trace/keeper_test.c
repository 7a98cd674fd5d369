#include "keeper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/keeper_test.XXXXXX";
static char instance[64];
static const char *const paths[] = {instance, "/nonexistent/instance"};

static int make_folder(void **state)
{
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(instance, sizeof(instance), "%s/instance", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)rmdir(instance);
	return rmdir(folder);
}

static bool is_there(void)
{
	return access(instance, F_OK) == 0;
}

static void an_end_as_planned_removes_what_is_left(void **state)
{
	struct keeper *keeper;

	assert_int_equal(keeper_start(&keeper, paths, 2), 0);
	assert_int_equal(mkdir(instance, 0700), 0);
	keeper_stop(keeper);
	assert_false(is_there());
}

static void nothing_left_is_no_error(void **state)
{
	struct keeper *keeper;

	assert_int_equal(keeper_start(&keeper, paths, 2), 0);
	keeper_stop(keeper);
	assert_false(is_there());
	keeper_stop(NULL);
}

// A process that is killed tells nobody: the end of its pipe does.
static void a_killed_process_leaves_nothing(void **state)
{
	static const struct timespec pause = {.tv_nsec = 10000000};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct keeper *keeper;
		bool is_ready = keeper_start(&keeper, paths, 2) == 0 && mkdir(instance, 0700) == 0;
		_exit(is_ready ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (int i = 0; i < 6000 && is_there(); i++)
		nanosleep(&pause, NULL);
	assert_false(is_there());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_as_planned_removes_what_is_left),
		cmocka_unit_test(nothing_left_is_no_error),
		cmocka_unit_test(a_killed_process_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
