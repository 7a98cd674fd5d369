#include "error.h"
#include "poller.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	HZ_GUESS = 1000000000, // ticks a second, near enough for timeouts
};

// Seconds: other processes may want the core, too.
static const uint64_t LONG_TICKS = UINT64_C(200) * HZ_GUESS;

static struct injection_log *none;

// The core that polls. It is left to the poller: who looks at it from the same core sees it at
// rest.
static int core;

static struct poller *open_poller(bool is_child)
{
	const struct poller_config config = {
		.core = core,
		.is_child = is_child,
		.tsc_hz = HZ_GUESS,
		.threshold_ns = 1000,
		.capacity = 1 << 16,
		.log = none,
		.gaps_path = "",
	};
	struct poller *poller;
	struct error error = {0};

	assert_int_equal(poller_open(&config, &poller, &error), 0);
	return poller;
}

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000000};

	(void)nanosleep(&pause, NULL);
}

// Others may have its core for a while.
static bool reads_on(const struct poller *poller, uint64_t before)
{
	uint64_t start = clock_tsc();

	while (poller_last_tsc(poller) <= before && clock_tsc() - start < LONG_TICKS)
		pause_ms(1);
	return poller_last_tsc(poller) > before;
}

static void skip_with_one_core(void)
{
	cpu_set_t ours;

	assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
	if (CPU_ISSET((size_t)core, &ours))
		skip();
}

static void it_says_that_it_runs_and_ends_when_told(void **state)
{
	skip_with_one_core();
	for (int is_child = 0; is_child <= 1; is_child++) {
		struct poller *poller = open_poller(is_child);

		assert_true(poller_is_running(poller, LONG_TICKS));
		assert_true(poller_tid(poller) > 0);
		assert_int_equal(poller_pid(poller) != 0, is_child);
		uint64_t before = poller_last_tsc(poller);
		assert_true(reads_on(poller, before));
		assert_int_equal(poller_stop(poller), 0);
		assert_true(poller_result(poller)->last_tsc > poller_result(poller)->first_tsc);
		poller_close(poller);
	}
}

static void add_one(void *arg)
{
	++*(int *)arg;
}

static void it_does_between_two_readings_what_it_is_asked(void **state)
{
	skip_with_one_core();
	struct poller *poller = open_poller(false);
	int n = 0;

	for (int i = 0; i < 1000; i++)
		assert_true(poller_call(poller, add_one, &n, LONG_TICKS));

	assert_int_equal(n, 1000);
	poller_close(poller);
}

static void one_that_is_stopped_does_not_run(void **state)
{
	skip_with_one_core();
	struct poller *poller = open_poller(true);

	assert_int_equal(kill(poller_pid(poller), SIGSTOP), 0);
	pause_ms(50);
	assert_false(poller_is_running(poller, HZ_GUESS / 50));
	assert_int_equal(kill(poller_pid(poller), SIGCONT), 0);
	assert_true(poller_is_running(poller, LONG_TICKS));
	assert_int_equal(poller_stop(poller), 0);
	assert_true(poller_result(poller)->n_gaps > 0);
	poller_close(poller);
}

static void a_child_that_was_killed_is_an_error(void **state)
{
	struct poller *poller = open_poller(true);

	assert_int_equal(kill(poller_pid(poller), SIGKILL), 0);
	assert_int_equal(poller_stop(poller), -ECHILD);
	poller_close(poller);
}

static void gaps_that_cannot_be_written_are_an_error(void **state)
{
	struct poller_config config = {
		.core = core,
		.tsc_hz = HZ_GUESS,
		.threshold_ns = 1000,
		.capacity = 16,
		.log = none,
		.gaps_path = "/nowhere/gaps.bin",
	};
	struct poller *poller;
	struct error error = {0};

	assert_int_equal(poller_open(&config, &poller, &error), 0);
	assert_int_equal(poller_stop(poller), -ENOENT);
	poller_close(poller);
}

static int leave_a_core(void **state)
{
	cpu_set_t allowed;

	none = injection_log_create(0, 1);
	if (none == NULL || sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return -1;
	while (!CPU_ISSET((size_t)core, &allowed))
		core++;
	CPU_CLR((size_t)core, &allowed);
	if (CPU_COUNT(&allowed) == 0)
		return 0;
	return sched_setaffinity(0, sizeof(allowed), &allowed);
}

static int free_log(void **state)
{
	injection_log_destroy(none);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_that_it_runs_and_ends_when_told),
		cmocka_unit_test(it_does_between_two_readings_what_it_is_asked),
		cmocka_unit_test(one_that_is_stopped_does_not_run),
		cmocka_unit_test(a_child_that_was_killed_is_an_error),
		cmocka_unit_test(gaps_that_cannot_be_written_are_an_error),
	};

	return cmocka_run_group_tests(tests, leave_a_core, free_log);
}
