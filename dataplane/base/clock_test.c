#include "clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_fit_finds_the_rate_of_exact_points(void **state)
{
	struct clock_point points[8];
	struct clock_fit fit;

	// 2.6 GHz: 13 ticks are 5 ns, so that both clocks are whole numbers.
	for (uint64_t i = 0; i < 8; i++)
		points[i] = (struct clock_point){
			.tsc = 1000000007 + i * 13000000, .mono_raw_ns = 77 + i * 5000000};

	assert_int_equal(clock_fit(points, 8, &fit), 0);

	assert_true(fit.tsc_hz > 2599999999.9 && fit.tsc_hz < 2600000000.1);
	assert_true(fit.residual_ns < 0.001);
}

static void test_residual_is_the_farthest_point(void **state)
{
	struct clock_point points[3] = {
		{.tsc = 0, .mono_raw_ns = 1000},
		{.tsc = 1000000, .mono_raw_ns = 1001030},
		{.tsc = 2000000, .mono_raw_ns = 2001000},
	};
	struct clock_fit fit;

	assert_int_equal(clock_fit(points, 3, &fit), 0);

	// The line runs 10 ns above the ends, the middle is 20 ns above the line.
	assert_true(fit.residual_ns > 19.9 && fit.residual_ns < 20.1);
}

static void test_residual_of_the_line_between_the_ends_is_of_that_line(void **state)
{
	struct clock_point points[3] = {
		{.tsc = 0, .mono_raw_ns = 1000},
		{.tsc = 1000000, .mono_raw_ns = 1001030},
		{.tsc = 2000000, .mono_raw_ns = 2001000},
	};
	struct clock_fit line;

	assert_int_equal(clock_line(points, 3, &line), 0);

	assert_true(line.tsc_hz > 999999999.9 && line.tsc_hz < 1000000000.1);
	assert_true(line.residual_ns > 29.9 && line.residual_ns < 30.1);
	assert_int_equal(clock_line(points, 1, &line), -EINVAL);
}

static void test_fit_of_points_that_stand_still_is_refused(void **state)
{
	const struct clock_point points[2] = {{.tsc = 5, .mono_raw_ns = 5}, {5, 5, 0}};
	struct clock_fit fit;

	assert_int_equal(clock_fit(points, 1, &fit), -EINVAL);
	assert_int_equal(clock_fit(points, 2, &fit), -EINVAL);
}

static void test_points_of_this_machine_advance(void **state)
{
	struct clock_point points[4];
	struct clock_fit fit;

	clock_points_take(points, 4, 1000000);

	assert_int_equal(clock_fit(points, 4, &fit), 0);
	assert_true(fit.tsc_hz > 1e6);
	assert_true(points[3].mono_raw_ns - points[0].mono_raw_ns >= 1000000);
}

static void test_ticks_and_ns_round_to_nearest_and_do_not_overflow(void **state)
{
	const uint64_t day_ns = UINT64_C(86400000000000);

	assert_int_equal(clock_ticks(1, 2600000000), 3);
	assert_int_equal(clock_ticks(day_ns, 2600000000), UINT64_C(224640000000000));
	assert_int_equal(clock_ns(UINT64_C(224640000000000), 2600000000), day_ns);
	assert_int_equal(clock_ns(1, 2600000000), 0);
	assert_int_equal(clock_ns(2, 2600000000), 1);
}

static bool usable(const char *cpuinfo, struct clock_flags *flags, struct error *why)
{
	char path[] = "/tmp/clock_test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, cpuinfo, strlen(cpuinfo)), strlen(cpuinfo));
	close(fd);
	bool result = clock_is_usable(path, flags, why);
	unlink(path);
	return result;
}

static void test_clock_with_both_flags_on_every_cpu_is_usable(void **state)
{
	struct error why;

	assert_true(usable("flags\t\t: fpu tsc constant_tsc nonstop_tsc\n"
			   "flags\t\t: tsc nonstop_tsc constant_tsc\n",
		NULL, &why));
	assert_string_equal(why.text, "");
}

static void test_one_cpu_without_nonstop_tsc_is_refused_by_name(void **state)
{
	struct clock_flags flags;
	struct error why;

	assert_false(usable(
		"flags : tsc constant_tsc nonstop_tsc\nflags : tsc constant_tsc\n", &flags, &why));

	assert_non_null(strstr(why.text, "no nonstop_tsc"));
	assert_true(flags.constant_tsc);
	assert_false(flags.nonstop_tsc);
}

static void test_longer_word_with_the_flag_in_it_does_not_count(void **state)
{
	struct error why;

	assert_false(usable("flags : xconstant_tsc constant_tsc_not nonstop_tsc\n", NULL, &why));
	assert_non_null(strstr(why.text, "no constant_tsc"));
}

static void test_machine_without_flags_is_refused(void **state)
{
	struct error why;

	assert_false(usable("Features : fp asimd\n", NULL, &why));
	assert_false(clock_is_usable("/nonexistent/cpuinfo", NULL, &why));
	assert_non_null(strstr(why.text, "/nonexistent/cpuinfo"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit_finds_the_rate_of_exact_points),
		cmocka_unit_test(test_residual_is_the_farthest_point),
		cmocka_unit_test(test_residual_of_the_line_between_the_ends_is_of_that_line),
		cmocka_unit_test(test_fit_of_points_that_stand_still_is_refused),
		cmocka_unit_test(test_points_of_this_machine_advance),
		cmocka_unit_test(test_ticks_and_ns_round_to_nearest_and_do_not_overflow),
		cmocka_unit_test(test_clock_with_both_flags_on_every_cpu_is_usable),
		cmocka_unit_test(test_one_cpu_without_nonstop_tsc_is_refused_by_name),
		cmocka_unit_test(test_longer_word_with_the_flag_in_it_does_not_count),
		cmocka_unit_test(test_machine_without_flags_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
