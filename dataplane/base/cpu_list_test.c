#include "cpu_list.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "grammar_test_env.h"

static void check_list(const char *list, const char *meaning)
{
	cpu_set_t set;
	char text[64];
	int err = cpu_list_parse(list, &set);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", list, err);
	if (meaning != NULL)
		assert_string_equal(cpu_list_format(&set, text, sizeof(text)), meaning);
}

static void test_lists_are_those_of_the_grammar(void **state)
{
	grammar_cases("cpus", check_list);
	check_list("", NULL);
	check_list("0,2-3,5,900-1023", "0,2-3,5,900-1023");
}

static void test_line_of_the_kernel_ends_with_a_newline(void **state)
{
	cpu_set_t set;

	assert_int_equal(cpu_list_parse("0-1\n", &set), 0);
	assert_int_equal(CPU_COUNT(&set), 2);
}

static void test_this_process_may_run_somewhere(void **state)
{
	cpu_set_t set;

	assert_int_equal(cpu_list_allowed(&set), 0);
	assert_true(CPU_COUNT(&set) > 0);
}

static void test_a_thread_reaches_what_it_was_not_started_on(void **state)
{
	cpu_set_t all, one, reached, after;

	assert_int_equal(cpu_list_reachable(&all), 0);
	for (size_t core = 0; core < CPU_SETSIZE; core++) {
		if (!CPU_ISSET(core, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(core, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);

		assert_int_equal(cpu_list_reachable(&reached), 0);

		assert_true(CPU_EQUAL(&reached, &all));
		assert_int_equal(cpu_list_allowed(&after), 0);
		assert_true(CPU_EQUAL(&after, &one));
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_are_those_of_the_grammar),
		cmocka_unit_test(test_line_of_the_kernel_ends_with_a_newline),
		cmocka_unit_test(test_this_process_may_run_somewhere),
		cmocka_unit_test(test_a_thread_reaches_what_it_was_not_started_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
