#include "trace_test_env.h"
#include "windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static void those_that_touch_become_one(void **state)
{
	struct windows windows = {0};

	assert_int_equal(windows_add(&windows, 10, 20), 0);
	assert_int_equal(windows_add(&windows, 40, 50), 0);
	assert_int_equal(windows_add(&windows, 25, 30), 0);
	assert_int_equal(windows.n, 3);
	assert_int_equal(windows.items[1].from_tsc, 25);
	assert_int_equal(windows_add(&windows, 20, 25), 0);
	assert_int_equal(windows.n, 2);
	assert_int_equal(windows.items[0].from_tsc, 10);
	assert_int_equal(windows.items[0].until_tsc, 30);
	assert_int_equal(windows_add(&windows, 0, 100), 0);
	assert_int_equal(windows.n, 1);
	assert_int_equal(windows.items[0].until_tsc, 100);
	windows_drop(&windows, 1);
	assert_int_equal(windows.n, 0);
	windows_destroy(&windows);
}

enum { TIME = 3000 };

static void they_hold_what_was_added_and_nothing_else(void **state)
{
	struct windows windows = {0};
	bool is_in[TIME + 100] = {false};
	uint64_t random = 5;

	for (int i = 0; i < 300; i++) {
		// Mostly near the end of what was added, as late packets come.
		uint64_t from = (uint64_t)i * 8 + made_number(&random, 400);
		uint64_t until = from + made_number(&random, 3);
		assert_int_equal(windows_add(&windows, from, until), 0);
		for (uint64_t t = from; t <= until; t++)
			is_in[t] = true;
	}
	size_t at = 0;
	for (uint64_t t = 0; t < TIME; t++) {
		while (at < windows.n && windows.items[at].until_tsc < t)
			at++;
		bool is_found = at < windows.n && windows.items[at].from_tsc <= t;
		assert_int_equal(is_found, is_in[t]);
	}
	assert_true(windows.n > 64); // more than the first memory
	windows_destroy(&windows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_touch_become_one),
		cmocka_unit_test(they_hold_what_was_added_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
