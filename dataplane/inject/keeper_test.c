#include "keeper.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const struct timespec pause_10ms = {.tv_nsec = 10000000};

static void go_on(void *arg)
{
	(void)kill(*(const pid_t *)arg, SIGCONT);
}

static pid_t start_victim(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

// A group of its own, as a shell gives each job, stops the victim and never lets it go on.
static pid_t start_job(pid_t victim)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct keeper keeper;
		(void)setpgid(0, 0);
		if (keeper_start(&keeper, go_on, &victim) < 0)
			_exit(1);
		for (int i = 0; i < 1000 && getsid(keeper.pid) != keeper.pid; i++)
			nanosleep(&pause_10ms, NULL);
		(void)kill(victim, SIGSTOP);
		for (;;)
			pause();
	}
	return pid;
}

static bool has_changed(pid_t pid, int how)
{
	int status;

	for (int i = 0; i < 1000; i++) {
		if (waitpid(pid, &status, how | WNOHANG) == pid)
			return true;
		nanosleep(&pause_10ms, NULL);
	}
	return false;
}

// As `kill -9 %1` and `timeout -s KILL` do: all of the group at once.
static void a_victim_goes_on_though_the_whole_group_is_killed(void **state)
{
	pid_t victim = start_victim();
	pid_t job = start_job(victim);

	assert_true(victim > 0 && job > 0);
	bool has_stopped = has_changed(victim, WUNTRACED);
	assert_int_equal(kill(-job, SIGKILL), 0);
	assert_int_equal(waitpid(job, NULL, 0), job);
	bool goes_on = has_changed(victim, WCONTINUED);

	(void)kill(victim, SIGKILL);
	(void)waitpid(victim, NULL, 0);
	assert_true(has_stopped);
	assert_true(goes_on);
}

static void one_that_is_dismissed_puts_nothing_back(void **state)
{
	pid_t victim = start_victim();
	struct keeper keeper;

	assert_true(victim > 0);
	assert_int_equal(keeper_start(&keeper, go_on, &victim), 0);
	(void)kill(victim, SIGSTOP);
	bool has_stopped = has_changed(victim, WUNTRACED);
	keeper_dismiss(&keeper);
	bool goes_on = waitpid(victim, NULL, WCONTINUED | WNOHANG) == victim;

	(void)kill(victim, SIGKILL);
	(void)waitpid(victim, NULL, 0);
	assert_true(has_stopped);
	assert_false(goes_on);
}

// With the control group that it holds, say.
static void one_that_was_killed_is_dismissed_all_the_same(void **state)
{
	struct keeper keeper;

	assert_int_equal(keeper_start(&keeper, go_on, &keeper.pid), 0);
	assert_int_equal(kill(keeper.pid, SIGKILL), 0);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)keeper.pid, &info, WEXITED | WNOWAIT), 0);

	keeper_dismiss(&keeper);

	assert_int_equal(keeper.pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_victim_goes_on_though_the_whole_group_is_killed),
		cmocka_unit_test(one_that_was_killed_is_dismissed_all_the_same),
		cmocka_unit_test(one_that_is_dismissed_puts_nothing_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
