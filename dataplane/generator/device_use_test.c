#include "device_use.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char cores[] = "/tmp/taut-device-use-XXXXXX";

static void make_state(int state, const char *name, const char *time_us)
{
	const char *const texts[][2] = {{"name", name}, {"time", time_us}};
	char path[256];

	snprintf(path, sizeof(path), "%s/cpu1", cores);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu1/cpuidle", cores);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu1/cpuidle/state%d", cores, state);
	(void)mkdir(path, 0700);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/cpu1/cpuidle/state%d/%s", cores, state,
			texts[i][0]);
		FILE *file = fopen(path, "we");
		assert_non_null(file);
		fprintf(file, "%s\n", texts[i][1]);
		fclose(file);
	}
}

static void test_polling_in_idle_is_told_from_sleep(void **state)
{
	struct device_use before, after;

	make_state(0, "POLL", "100");
	make_state(1, "C1", "2000");
	make_state(2, "haltpoll idle", "30000");
	device_use_take(&before, 0, 1, cores);
	make_state(0, "POLL", "107");
	make_state(2, "haltpoll idle", "30400");
	device_use_take(&after, 0, 1, cores);
	struct device_use used = device_use_between(&before, &after);

	assert_true(used.has_core);
	assert_false(used.has_process);
	assert_int_equal(before.asleep_ns, 32000000);
	assert_int_equal(used.idle_poll_ns, 7000);
	assert_int_equal(used.asleep_ns, 400000);
}

static void test_a_kernel_without_states_says_nothing(void **state)
{
	struct device_use use;

	device_use_take(&use, 0, 99, cores);

	assert_false(use.has_core);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

enum { BURNT_NS = 20000000 };

// Told to over the socket, it runs for so long, says so and waits for its end.
static _Noreturn void burn(int with_parent)
{
	char word;

	if (read(with_parent, &word, 1) == 1) {
		uint64_t end_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) + BURNT_NS;
		while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
			;
		(void)!write(with_parent, "", 1);
	}
	for (;;)
		pause();
}

// A process that is not this one, and waits meanwhile: of it, only what it runs counts.
static void test_time_of_another_process_is_its_own(void **state)
{
	struct device_use before, after;
	int ends[2];
	char word;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		burn(ends[1]);
	uint64_t begun_ns = now_ns(CLOCK_MONOTONIC);
	device_use_take(&before, pid, 99, cores);
	bool has_burnt = write(ends[0], "", 1) == 1 && read(ends[0], &word, 1) == 1;
	device_use_take(&after, pid, 99, cores);
	uint64_t passed_ns = now_ns(CLOCK_MONOTONIC) - begun_ns;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	struct device_use used = device_use_between(&before, &after);

	assert_true(has_burnt);
	assert_true(used.has_process);
	assert_in_range(used.process_ns, BURNT_NS, passed_ns);
	device_use_take(&after, pid, 99, cores);
	assert_false(after.has_process);
}

static int remove_cores(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", cores);
	return system(command);
}

static int make_cores(void **state)
{
	return mkdtemp(cores) == NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_polling_in_idle_is_told_from_sleep),
		cmocka_unit_test(test_a_kernel_without_states_says_nothing),
		cmocka_unit_test(test_time_of_another_process_is_its_own),
	};

	return cmocka_run_group_tests(tests, make_cores, remove_cores);
}
