#include "error.h"
#include "option_spec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct options {
	bool fast;
	uint64_t size, time_ns;
	const char *name;
	uint32_t mode;
	double share;
	struct option_list items;
};

static const char *const modes[] = {"slow", "quick", NULL};

static const struct option_spec specs[] = {
	{"fast", OPTION_FLAG, offsetof(struct options, fast), "off", "go fast", NULL, 0, 0},
	{"size", OPTION_UINT, offsetof(struct options, size), "32", "how many", NULL, 1, 64},
	{"time", OPTION_DURATION, offsetof(struct options, time_ns), "50us", "how long", NULL, 0,
		0},
	{"name", OPTION_STRING, offsetof(struct options, name), "x", "who", NULL, 0, 0},
	{"mode", OPTION_CHOICE, offsetof(struct options, mode), "slow", "how", modes, 0, 0},
	{"share", OPTION_DOUBLE, offsetof(struct options, share), "0.5", "how much", NULL, 0, 0},
	{"item", OPTION_LIST, offsetof(struct options, items), NULL, "many", NULL, 0, 0},
};
enum { N_SPECS = sizeof(specs) / sizeof(specs[0]) };

static struct error error;

static int parse(const char *text, struct options *out)
{
	memset(out, 0, sizeof(*out));
	error.text[0] = '\0';
	return option_parse_list("thing", specs, N_SPECS, text, out, &error);
}

static void assert_refused(const char *text, const char *line)
{
	struct options options;

	assert_int_equal(parse(text, &options), -EINVAL);
	assert_string_equal(error.text, line);
}

static void test_no_text_gives_the_defaults(void **state)
{
	struct options options;

	assert_int_equal(parse(NULL, &options), 0);

	assert_false(options.fast);
	assert_int_equal(options.size, 32);
	assert_int_equal(options.time_ns, 50000);
	assert_string_equal(options.name, "x");
	assert_int_equal(options.mode, 0);
	assert_true(options.share == 0.5);
}

static void test_every_type_is_parsed(void **state)
{
	struct options options;

	assert_int_equal(
		parse("fast,size=64,time=1.5ms,name=a=b,mode=quick,share=1e-3,item=p,item=q",
			&options),
		0);

	assert_true(options.fast);
	assert_int_equal(options.size, 64);
	assert_int_equal(options.time_ns, 1500000);
	assert_string_equal(options.name, "a=b");
	assert_int_equal(options.mode, 1);
	assert_true(options.share == 1e-3);
	assert_int_equal(options.items.n, 2);
	assert_string_equal(options.items.items[1], "q");
}

static void test_durations_have_units_and_are_exact(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"time=0", 0},
		{"time=0us", 0},
		{"time=1ns", 1},
		{"time=100us", 100000},
		{"time=250ms", 250000000},
		{"time=10s", UINT64_C(10000000000)},
		{"time=2m", UINT64_C(120000000000)},
		{"time=1h", UINT64_C(3600000000000)},
		{"time=0.1us", 100},
		{"time=1.5us", 1500},
		{"time=1.5 \u00b5s", 1500},
		{"time=1.5\u03bcs", 1500},
		{"time=1 s", 1000000000},
		{"time=2min", UINT64_C(120000000000)},
	};
	static const char *const bad[] = {"time=10", "time=", "time=us", "time=-1s", "time=1 ",
		"time= s", "time=1.5ns", "time=1..5s", "time=10x", "time=99999999999999999999h",
		"time=999999999h"};
	struct options options;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(parse(good[i].text, &options), 0);
		assert_int_equal(options.time_ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], &options), -EINVAL);
}

static void test_bad_input_names_owner_key_and_what_is_accepted(void **state)
{
	assert_refused("size=65", "thing: size=65: accepted are 1 to 64");
	assert_refused("size=0", "thing: size=0: accepted are 1 to 64");
	assert_refused("size=-1", "thing: size=-1: a whole number is needed");
	assert_refused("size=18446744073709551616",
		"thing: size=18446744073709551616: a whole number is needed");
	assert_refused("mode=x", "thing: mode=x: accepted are slow, quick");
	assert_refused("fast=maybe", "thing: fast=maybe: accepted are on, off");
	assert_refused("share=nan", "thing: share=nan: a number is needed");
	assert_refused("size=1,size=2", "thing: size: given twice; give it once");
	assert_refused("speed=1", "thing: speed: no such option; accepted are fast, size, time, "
				  "name, mode, share, item");
}

static void test_unknown_key_of_an_owner_without_options_is_refused(void **state)
{
	assert_int_equal(option_parse_list("null", NULL, 0, "a=1", NULL, &error), -EINVAL);
	assert_string_equal(error.text, "null: a: no such option; it has none");
}

static void test_required_option_left_out_is_refused(void **state)
{
	const struct option_spec needed = {.name = "id", .type = OPTION_UINT, .help = "a number"};
	uint64_t id = 0;

	assert_int_equal(option_parse_list("thing", &needed, 1, "", &id, &error), -EINVAL);
	assert_string_equal(error.text, "thing: id: missing; a number");
}

static void test_more_items_than_a_list_holds_are_refused(void **state)
{
	struct options options;
	char text[OPTION_LIST_MAX * 8 + 8] = "item=0";

	for (int i = 0; i < OPTION_LIST_MAX; i++)
		strcat(text, ",item=1");
	assert_int_equal(parse(text, &options), -EINVAL);
	assert_non_null(strstr(error.text, "at most 32"));
}

static void test_description_is_json_with_every_field(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	struct json json = {.out = out};
	json_object(&json, NULL);
	option_describe(&json, &specs[1], 1);
	json_end(&json);
	fclose(out);
	assert_string_equal(text,
		"{\"options\":[{\"name\":\"size\",\"type\":\"uint\",\"default\":\"32\","
		"\"help\":\"how many\",\"metavar\":\"N\",\"min\":1,\"max\":64}]}");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_text_gives_the_defaults),
		cmocka_unit_test(test_every_type_is_parsed),
		cmocka_unit_test(test_durations_have_units_and_are_exact),
		cmocka_unit_test(test_bad_input_names_owner_key_and_what_is_accepted),
		cmocka_unit_test(test_unknown_key_of_an_owner_without_options_is_refused),
		cmocka_unit_test(test_required_option_left_out_is_refused),
		cmocka_unit_test(test_more_items_than_a_list_holds_are_refused),
		cmocka_unit_test(test_description_is_json_with_every_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
