#include "cpu_list.h"
#include "cpu_text.h"
#include "error.h"
#include "trace_options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "grammar_test_env.h"

static cpu_set_t cpus_of(const char *list)
{
	cpu_set_t cpus;

	assert_int_equal(cpu_list_parse(list, &cpus), 0);
	return cpus;
}

static const char *mask_of(const char *list)
{
	static char text[CPU_SETSIZE];
	cpu_set_t cpus = cpus_of(list);

	return cpu_text_mask(&cpus, text, sizeof(text));
}

static void masks_are_words_of_32_bits_highest_first(void **state)
{
	assert_string_equal(mask_of("0"), "1");
	assert_string_equal(mask_of("1,3"), "a");
	assert_string_equal(mask_of("31"), "80000000");
	assert_string_equal(mask_of("32"), "1,00000000");
	assert_string_equal(mask_of("0,70"), "40,00000000,00000001");
}

static void filters_name_single_cpus_and_ranges(void **state)
{
	char text[200];
	cpu_set_t cpus = cpus_of("1,4-7,9");

	assert_int_equal(cpu_text_filter("cpu", &cpus, text, sizeof(text)), 0);
	assert_string_equal(text, "cpu == 1 || (cpu >= 4 && cpu <= 7) || cpu == 9");
	assert_int_equal(cpu_text_filter("cpu", &cpus, text, 20), -E2BIG);
	assert_int_equal(cpu_text_mask_filter("cpumask", &cpus, text, sizeof(text)), 0);
	assert_string_equal(text, "cpumask & CPUS{1,4-7,9}");
}

static void filters_name_threads(void **state)
{
	static const uint32_t threads[] = {7, 4194303}, runs[] = {7, 9, 9, 10, 11, 13};
	char text[100];

	assert_int_equal(thread_text_filter("common_pid", threads, 2, text, sizeof(text)), 0);
	assert_string_equal(text, "common_pid == 7 || common_pid == 4194303");
	assert_int_equal(thread_text_filter("common_pid", threads, 2, text, 30), -E2BIG);
	assert_int_equal(thread_text_filter("pid", threads, 0, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(thread_text_filter("pid", runs, 6, text, sizeof(text)), 0);
	assert_string_equal(text, "pid == 7 || (pid >= 9 && pid <= 11) || pid == 13");
}

static void check_over(const char *text, const char *meaning)
{
	struct late_config config = {.fixed_ns = 7, .share = 7};
	struct error error = {0};
	int err = trace_parse_over(text, &config, &error);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", text, err);
	if (meaning == NULL) {
		assert_non_null(strstr(error.text, "wanted a percentile"));
		return;
	}
	bool is_share = strchr(meaning, '%') != NULL;
	assert_true(config.share == (is_share ? strtod(meaning, NULL) / 100 : 0));
	assert_int_equal(config.fixed_ns, is_share ? 0 : strtoull(meaning, NULL, 10));
}

static void late_is_what_the_grammar_says(void **state)
{
	grammar_cases("over", check_over);
}

static void threads_are_numbers(void **state)
{
	static struct trace_config config;
	struct error error = {0};

	assert_int_equal(trace_parse_threads("7,4711", &config, &error), 0);
	assert_int_equal(config.n_threads, 2);
	assert_int_equal(config.threads[1], 4711);
	assert_int_equal(trace_parse_threads("4711,9,7", &config, &error), 0);
	assert_int_equal(config.threads[0], 7);
	assert_int_equal(config.threads[2], 4711);
	assert_int_equal(trace_parse_threads("", &config, &error), 0);
	assert_int_equal(config.n_threads, 0);
	static const char *const wrong[] = {"a", "7,,8", "0", "-1", "7 8", "99999999"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(trace_parse_threads(wrong[i], &config, &error), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_are_words_of_32_bits_highest_first),
		cmocka_unit_test(filters_name_single_cpus_and_ranges),
		cmocka_unit_test(filters_name_threads),
		cmocka_unit_test(late_is_what_the_grammar_says),
		cmocka_unit_test(threads_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
