#include "cpu_list.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_list_comes_back_as_it_was_written(void **state)
{
	static const char *const lists[] = {"0", "0-3", "1,3", "0-3,7", "0,2-3,5,900-1023"};
	cpu_set_t set;
	char text[64];

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		assert_int_equal(cpu_list_parse(lists[i], &set), 0);
		assert_string_equal(cpu_list_format(&set, text, sizeof(text)), lists[i]);
	}
}

static void test_line_of_the_kernel_ends_with_a_newline(void **state)
{
	cpu_set_t set;

	assert_int_equal(cpu_list_parse("0-1\n", &set), 0);
	assert_int_equal(CPU_COUNT(&set), 2);
}

static void test_text_that_is_no_list_is_refused(void **state)
{
	static const char *const lists[] = {
		"", "a", "1-", "-1", "3-1", "1,,2", "1,", "1 2", "1024", "99999999999999999999"};
	cpu_set_t set;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_int_equal(cpu_list_parse(lists[i], &set), -EINVAL);
}

static void test_this_process_may_run_somewhere(void **state)
{
	cpu_set_t set;

	assert_int_equal(cpu_list_allowed(&set), 0);
	assert_true(CPU_COUNT(&set) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_comes_back_as_it_was_written),
		cmocka_unit_test(test_line_of_the_kernel_ends_with_a_newline),
		cmocka_unit_test(test_text_that_is_no_list_is_refused),
		cmocka_unit_test(test_this_process_may_run_somewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
