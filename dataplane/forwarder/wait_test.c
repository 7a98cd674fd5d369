#include "wait.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "grammar_test_env.h"

enum { TSC_HZ = 2000000000 };

static struct error error;

static void check_wait(const char *text, const char *meaning)
{
	struct wait wait;
	char found[64];
	int err = wait_parse(&wait, text, &error);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", text, err);
	if (meaning == NULL)
		return;
	if (!wait.sleeps)
		snprintf(found, sizeof(found), "poll");
	else if (wait.chooses)
		snprintf(found, sizeof(found), "adaptive");
	else if (wait.spin_ns == 0)
		snprintf(found, sizeof(found), "interrupt");
	else
		snprintf(found, sizeof(found), "adaptive %" PRIu64, wait.spin_ns);
	assert_string_equal(found, meaning);
}

static void test_ways_are_those_of_the_grammar(void **state)
{
	grammar_cases("wait", check_wait);
}

static void test_bad_ways_are_refused_in_one_line(void **state)
{
	static const char *const bad[][2] = {
		{"lazy", "--wait lazy: no such way; one of poll, interrupt, adaptive[:50us]"},
		{"pause", "--wait pause: not built: no processor with waitpkg (TPAUSE, UMWAIT)"},
		{"monitor", "was there to try it on; one of poll, interrupt, adaptive[:50us]"},
		{"adaptive:50", "--wait adaptive: spin=50: a duration with its unit"},
		{"adaptive:2s", "accepted are 1 to 1000000000 ns"},
	};
	struct wait wait;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(wait_parse(&wait, bad[i][0], &error), -EINVAL);
		if (strstr(error.text, bad[i][1]) == NULL)
			fail_msg("%s: %s", bad[i][0], error.text);
	}
}

static void test_a_spin_that_is_given_stays(void **state)
{
	struct wait wait;

	assert_int_equal(wait_parse(&wait, "adaptive:50us", &error), 0);
	wait_init(&wait, TSC_HZ);
	for (int i = 1; i < 10 * SPIN_WINDOW; i++)
		wait_arrival(&wait, wait.arrived_tsc + 1000000000);

	assert_int_equal(wait.spin_ticks, 100000);
}

static void test_one_that_is_not_given_is_chosen_by_the_gaps(void **state)
{
	struct wait wait;

	assert_int_equal(wait_parse(&wait, "adaptive", &error), 0);
	wait_init(&wait, TSC_HZ);
	assert_true(wait.spin_ticks > 0);
	for (int i = 0; i < 2 * SPIN_WINDOW; i++)
		wait_arrival(&wait, wait.arrived_tsc + 1000000000);

	assert_int_equal(wait.spin_ticks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways_are_those_of_the_grammar),
		cmocka_unit_test(test_bad_ways_are_refused_in_one_line),
		cmocka_unit_test(test_a_spin_that_is_given_stays),
		cmocka_unit_test(test_one_that_is_not_given_is_chosen_by_the_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
