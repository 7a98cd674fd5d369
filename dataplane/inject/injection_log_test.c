#include "injection_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void injections_are_kept_in_order_with_their_cause(void **state)
{
	struct injection_log *log = injection_log_create(3, 4);

	assert_non_null(log);
	injection_log_add(log, 10, 20, 77, 8);
	injection_log_add(log, 30, 40, 78, 9);

	assert_int_equal(injection_log_kept(log), 2);
	assert_int_equal(log->records[0].start_tsc, 10);
	assert_int_equal(log->records[0].end_tsc, 20);
	assert_int_equal(log->records[0].cause, 3);
	assert_int_equal(log->records[0].thread, 77);
	assert_int_equal(log->records[1].arg, 9);
	injection_log_destroy(log);
}

static void those_beyond_the_capacity_are_counted(void **state)
{
	struct injection_log *log = injection_log_create(0, 2);

	assert_non_null(log);
	for (uint64_t i = 0; i < 5; i++)
		injection_log_add(log, i, i, 1, 0);

	assert_int_equal(log->n, 5);
	assert_int_equal(log->not_logged, 3);
	assert_int_equal(injection_log_kept(log), 2);
	injection_log_destroy(log);
}

static void felt_is_what_overlaps_a_gap(void **state)
{
	static const struct gap_record gaps[] = {
		{.start_tsc = 0, .end_tsc = 5},
		{.start_tsc = 18, .end_tsc = 25},
		{.start_tsc = 90, .end_tsc = 95},
	};
	struct injection_log *log = injection_log_create(0, 8);

	assert_non_null(log);
	injection_log_add(log, 10, 20, 1, 0); // its end lies in a gap
	injection_log_add(log, 21, 22, 1, 0); // within the same gap
	injection_log_add(log, 30, 40, 1, 0); // between two
	injection_log_add(log, 80, 100, 1, 0); // around one
	injection_log_add(log, 101, 102, 1, 0); // behind all

	assert_int_equal(injection_log_felt(log, gaps, 3), 3);
	assert_int_equal(injection_log_felt(log, gaps, 0), 0);
	injection_log_destroy(log);
}

static void what_began_until_a_time_is_counted(void **state)
{
	struct injection_log *log = injection_log_create(0, 2);

	assert_non_null(log);
	injection_log_add(log, 10, 20, 1, 0);
	injection_log_add(log, 30, 40, 1, 0);
	injection_log_add(log, 50, 60, 1, 0); // no room

	assert_int_equal(injection_log_begun(log, 9), 0);
	assert_int_equal(injection_log_begun(log, 10), 1);
	assert_int_equal(injection_log_begun(log, 29), 1);
	assert_int_equal(injection_log_begun(log, UINT64_MAX), 2);
	injection_log_destroy(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(injections_are_kept_in_order_with_their_cause),
		cmocka_unit_test(those_beyond_the_capacity_are_counted),
		cmocka_unit_test(felt_is_what_overlaps_a_gap),
		cmocka_unit_test(what_began_until_a_time_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
