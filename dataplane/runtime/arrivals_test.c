#include "arrivals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 64 };

static void test_what_a_poll_finds_came_after_the_one_that_emptied_the_port(void **state)
{
	struct arrivals arrivals = {0};

	arrivals_polled(&arrivals, 100, 0, MOST);
	assert_int_equal(arrivals.since_tsc, 100);
	arrivals_polled(&arrivals, 200, MOST - 1, MOST);
	assert_int_equal(arrivals.since_tsc, 200);
}

static void test_what_full_polls_left_came_since_the_one_before_them(void **state)
{
	struct arrivals arrivals = {0};

	arrivals_polled(&arrivals, 100, 1, MOST);
	arrivals_polled(&arrivals, 200, MOST, MOST);
	arrivals_polled(&arrivals, 300, MOST, MOST);
	assert_int_equal(arrivals.since_tsc, 100);
	arrivals_polled(&arrivals, 400, 1, MOST);
	assert_int_equal(arrivals.since_tsc, 400);
}

// Polls 200 and 300 give what the ring held at 200. What came until 900, when the loop goes on
// after a stall, is found at 1000, after a poll that gave the rest of the ring at 200.
static void test_a_port_that_may_leave_packets_is_asked_twice(void **state)
{
	struct arrivals arrivals = {.may_leave = true};

	arrivals_polled(&arrivals, 100, 0, MOST);
	assert_int_equal(arrivals.since_tsc, 100);
	arrivals_polled(&arrivals, 200, MOST, MOST);
	arrivals_polled(&arrivals, 900, 1, MOST);
	assert_int_equal(arrivals.since_tsc, 100);
	arrivals_polled(&arrivals, 1000, 1, MOST);
	assert_int_equal(arrivals.since_tsc, 900);
	arrivals_polled(&arrivals, 1100, 0, MOST);
	assert_int_equal(arrivals.since_tsc, 1100);
}

// 180 packets stood there at 200, and each poll ends with a cache line.
static void test_a_poll_that_ends_with_a_cache_line_is_full(void **state)
{
	struct arrivals arrivals = {.may_leave = true};

	arrivals_polled(&arrivals, 100, 0, MOST);
	assert_true(arrivals_polled(&arrivals, 200, MOST - ARRIVALS_CUT, MOST));
	assert_true(arrivals_polled(&arrivals, 300, MOST, MOST));
	assert_false(arrivals_polled(&arrivals, 400, 52, MOST));
	assert_int_equal(arrivals.since_tsc, 100);
	arrivals_polled(&arrivals, 500, 3, MOST);
	assert_int_equal(arrivals.since_tsc, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_poll_finds_came_after_the_one_that_emptied_the_port),
		cmocka_unit_test(test_what_full_polls_left_came_since_the_one_before_them),
		cmocka_unit_test(test_a_port_that_may_leave_packets_is_asked_twice),
		cmocka_unit_test(test_a_poll_that_ends_with_a_cache_line_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
