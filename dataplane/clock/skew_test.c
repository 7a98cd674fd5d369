#include "cpu_list.h"
#include "skew.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

// The linker puts this before glibc's (--wrap): so many threads can be pinned, no more.
static int n_pins_left = INT_MAX;

int __real_pthread_setaffinity_np(pthread_t thread, size_t len, const cpu_set_t *set);
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t len, const cpu_set_t *set);

int __wrap_pthread_setaffinity_np(pthread_t thread, size_t len, const cpu_set_t *set)
{
	if (n_pins_left-- <= 0)
		return EINVAL;
	return __real_pthread_setaffinity_np(thread, len, set);
}

static int first_core(void)
{
	cpu_set_t allowed;
	int core = 0;

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	while (!CPU_ISSET((size_t)core, &allowed))
		core++;
	return core;
}

// As python/taut/explain/read/clocks.py reads it: positive, b is ahead of a.
static void the_counter_that_is_ahead_makes_the_way_there_longer(void **state)
{
	struct skew ahead = skew_of(160, 40), behind = skew_of(40, 160);

	assert_int_equal(ahead.skew_ticks, 60);
	assert_int_equal(ahead.uncertainty_ticks, 100);
	assert_int_equal(behind.skew_ticks, -60);
	assert_int_equal(behind.uncertainty_ticks, 100);
}

// One core: both threads share one counter, so whatever is measured must hold zero.
static void one_core_has_no_skew_within_the_stated_uncertainty(void **state)
{
	struct skew skew;
	int core = first_core();

	// Few rounds: each turn on one core costs a scheduler slice.
	assert_int_equal(skew_measure(core, core, 20, &skew), 0);

	int64_t bound = skew.uncertainty_ticks + 1;
	assert_in_range(skew.skew_ticks + bound, 0, 2 * bound);
}

static void a_core_that_does_not_exist_is_refused(void **state)
{
	struct skew skew;

	assert_int_equal(skew_measure(first_core(), 1023, 1, &skew), -EINVAL);
}

// The core goes away between the check and the thread that is to run there.
static void a_core_that_goes_away_is_an_error_and_no_endless_wait(void **state)
{
	struct skew skew;
	int core = first_core();

	n_pins_left = 2;
	alarm(120);
	assert_int_equal(skew_measure(core, core, 20, &skew), -EINVAL);
	alarm(0);
	n_pins_left = INT_MAX;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counter_that_is_ahead_makes_the_way_there_longer),
		cmocka_unit_test(one_core_has_no_skew_within_the_stated_uncertainty),
		cmocka_unit_test(a_core_that_does_not_exist_is_refused),
		cmocka_unit_test(a_core_that_goes_away_is_an_error_and_no_endless_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
