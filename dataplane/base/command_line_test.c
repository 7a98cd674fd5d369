#include "command_line.h"
#include "error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct options {
	uint64_t burst;
	bool both;
	struct option_list ports;
	const char *out;
};

static const struct option_spec specs[] = {
	{"burst", OPTION_UINT, offsetof(struct options, burst), "32", "packets", NULL, 1, 256},
	{"both", OPTION_FLAG, offsetof(struct options, both), "off", "both ways", NULL, 0, 0},
	{"port", OPTION_LIST, offsetof(struct options, ports), NULL, "a port", NULL, 0, 0},
	{"out", OPTION_STRING, offsetof(struct options, out), NULL, "a folder", NULL, 0, 0},
};

static const char *const examples[] = {"--out here", NULL};

static const struct command_line line = {
	.program = "taut-x",
	.summary = "test",
	.usage = "--out DIR",
	.examples = examples,
	.version = "1",
	.options = specs,
	.n_options = sizeof(specs) / sizeof(specs[0]),
};

static struct error error;
static struct options options;
static int n_used;

// Arguments after the program's name, NULL at the end.
static int parse(const char *const *arguments)
{
	char *argv[16] = {(char *)"taut-x"};
	int argc = 1;

	for (; arguments[argc - 1] != NULL; argc++)
		argv[argc] = (char *)arguments[argc - 1];
	options = (struct options){0};
	return command_line_parse(&line, argc, argv, &options, &n_used, &error);
}

static void test_values_stand_behind_a_space_or_an_equals_sign(void **state)
{
	const char *const arguments[] = {
		"--burst", "8", "--out=a=b", "--both", "--port", "x", "--port=y", NULL};

	assert_int_equal(parse(arguments), COMMAND_LINE_RUN);

	assert_int_equal(options.burst, 8);
	assert_true(options.both);
	assert_string_equal(options.out, "a=b");
	assert_int_equal(options.ports.n, 2);
	assert_string_equal(options.ports.items[1], "y");
	assert_int_equal(n_used, 8);
}

static void test_what_follows_the_dashes_is_left_to_eal(void **state)
{
	const char *const arguments[] = {"--out", "d", "--", "--burst", NULL};

	assert_int_equal(parse(arguments), COMMAND_LINE_RUN);

	assert_int_equal(n_used, 4);
	assert_int_equal(options.burst, 32);
}

static void test_bad_input_is_one_line_that_names_it(void **state)
{
	static const struct {
		const char *arguments[4];
		const char *line;
	} bad[] = {
		{{"--bursts", "1"}, "--bursts: no such option; see --help"},
		{{"burst"}, "burst: no such option; see --help"},
		{{"--"}, "--out: missing; a folder"},
		{{"--out"}, "--out: a value is missing; a folder"},
		{{"--out=d", "--burst=0"}, "--burst 0: accepted are 1 to 256"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].arguments), -EINVAL);
		assert_string_equal(error.text, bad[i].line);
	}
}

static char printed[4096];

// What reaches standard output while one argument is answered.
static void ask(const char *argument)
{
	const char *const arguments[] = {argument, NULL};
	FILE *file = tmpfile();
	int before = dup(STDOUT_FILENO);

	assert_non_null(file);
	fflush(stdout);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
	int result = parse(arguments);
	fflush(stdout);
	assert_true(dup2(before, STDOUT_FILENO) >= 0);
	close(before);
	rewind(file);
	printed[fread(printed, 1, sizeof(printed) - 1, file)] = '\0';
	fclose(file);
	assert_int_equal(result, COMMAND_LINE_DONE);
}

static void test_help_names_every_option_with_its_default(void **state)
{
	static const char *const lines[] = {
		"Usage: taut-x --out DIR\n",
		"\n  --burst N                 packets [default: 32]\n",
		"\n  --both                    both ways\n",
		"\n  --port ITEM               a port\n",
		"\n  --out TEXT                a folder\n",
		"\nExamples:\n  taut-x --out here\n",
	};

	ask("--help");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_non_null(strstr(printed, lines[i]));
	for (char *text = printed, *one; (one = strsep(&text, "\n")) != NULL;)
		assert_true(strlen(one) < 80);
}

static void test_version_is_one_line(void **state)
{
	ask("--version");
	assert_string_equal(printed, "taut-x 1\n");
}

static void test_description_is_for_programs(void **state)
{
	ask("--describe");
	assert_non_null(strstr(printed, "{\"program\":\"taut-x\",\"version\":\"1\","));
	assert_non_null(strstr(printed, "\"options\":[{\"name\":\"burst\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_stand_behind_a_space_or_an_equals_sign),
		cmocka_unit_test(test_what_follows_the_dashes_is_left_to_eal),
		cmocka_unit_test(test_bad_input_is_one_line_that_names_it),
		cmocka_unit_test(test_help_names_every_option_with_its_default),
		cmocka_unit_test(test_version_is_one_line),
		cmocka_unit_test(test_description_is_for_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
