#include "cpu_list.h"
#include "error.h"
#include "json_writer.h"
#include "option_spec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "grammar_test_env.h"

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

static void check_duration(const char *text, const char *meaning)
{
	const struct option_spec spec = {.name = "time", .type = OPTION_DURATION};
	uint64_t ns = 7;
	int err = option_parse_value("thing", &spec, text, &ns, &error);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", text, err);
	if (meaning != NULL)
		assert_int_equal(ns, strtoull(meaning, NULL, 10));
}

static void test_durations_are_those_of_the_grammar(void **state)
{
	grammar_cases("duration", check_duration);
}

static void check_signed_duration(const char *text, const char *meaning)
{
	const struct option_spec spec = {.name = "offset", .type = OPTION_SIGNED_DURATION};
	int64_t ns = 7;
	int err = option_parse_value("thing", &spec, text, &ns, &error);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", text, err);
	if (meaning != NULL)
		assert_true(ns == strtoll(meaning, NULL, 10));
}

static void test_signed_durations_are_those_of_the_grammar(void **state)
{
	grammar_cases("signed_duration", check_signed_duration);
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

struct placed {
	int core;
	cpu_set_t cpus;
	uint64_t bytes;
	int64_t offset_ns, above_ns;
};

static int place(const struct option_spec *spec, const char *text, struct placed *out)
{
	return option_parse_value(NULL, spec, text, out, &error);
}

static void test_a_core_is_one_number(void **state)
{
	static const char *const bad[] = {"", "x", "-1", "1024", "0-1", "1,2", " 1", "1 "};
	const struct option_spec needed = {
		.name = "core", .type = OPTION_CORE, .offset = offsetof(struct placed, core)};
	struct placed out;

	assert_int_equal(place(&needed, "0", &out), 0);
	assert_int_equal(out.core, 0);
	assert_int_equal(place(&needed, "1023", &out), 0);
	assert_int_equal(out.core, 1023);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(place(&needed, bad[i], &out), -EINVAL);
		assert_non_null(strstr(error.text, ": a core is a number; see lscpu"));
	}
	assert_int_equal(place(&needed, "0-1", &out), -EINVAL);
	assert_string_equal(error.text, "--core 0-1: a core is a number; see lscpu");
}

static void test_cores_are_a_list(void **state)
{
	const struct option_spec needed = {
		.name = "cores", .type = OPTION_CPUS, .offset = offsetof(struct placed, cpus)};
	struct placed out;

	assert_int_equal(place(&needed, "0-2,7", &out), 0);
	assert_int_equal(CPU_COUNT(&out.cpus), 4);
	assert_true(CPU_ISSET(7, &out.cpus));
	assert_int_equal(place(&needed, "", &out), -EINVAL);
	assert_int_equal(place(&needed, "3-1", &out), -EINVAL);
	assert_string_equal(error.text, "--cores 3-1: not a list of cores; write it as 0-3,7");
}

static void test_unsaid_cores_are_left_to_the_program(void **state)
{
	const struct option_spec both[] = {
		{.name = "core",
			.type = OPTION_CORE,
			.offset = offsetof(struct placed, core),
			.default_text = ""},
		{.name = "cores",
			.type = OPTION_CPUS,
			.offset = offsetof(struct placed, cpus),
			.default_text = ""},
	};
	struct placed out;

	memset(&out, 0xff, sizeof(out));
	option_defaults(both, 2, &out);
	assert_int_equal(out.core, -1);
	assert_int_equal(CPU_COUNT(&out.cpus), 0);
	assert_int_equal(place(&both[0], "5", &out), 0);
	assert_int_equal(place(&both[0], "", &out), 0);
	assert_int_equal(out.core, -1);
}

static void check_size(const char *text, const char *meaning)
{
	const struct option_spec any = {
		.name = "buffer", .type = OPTION_SIZE, .offset = offsetof(struct placed, bytes)};
	struct placed out = {.bytes = 7};
	int err = place(&any, text, &out);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", text, err);
	if (meaning != NULL)
		assert_int_equal(out.bytes, strtoull(meaning, NULL, 10));
	else
		assert_non_null(strstr(error.text, ": wanted a size, as 8MB"));
}

static void test_sizes_are_those_of_the_grammar(void **state)
{
	grammar_cases("size", check_size);
}

static void test_sizes_have_bounds(void **state)
{
	static const char *const bad[] = {"1KB", "5000MB", "5GB", "8191", "18446744073709551615"};
	const struct option_spec bounded = {.name = "buffer",
		.type = OPTION_SIZE,
		.offset = offsetof(struct placed, bytes),
		.min = 8 << 10,
		.max = UINT64_C(4) << 30};
	struct placed out;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(place(&bounded, bad[i], &out), -EINVAL);
	assert_int_equal(place(&bounded, "8KB", &out), 0);
	assert_int_equal(place(&bounded, "4GB", &out), 0);
	assert_int_equal(out.bytes, UINT64_C(4) << 30);
	assert_int_equal(place(&bounded, "1KB", &out), -EINVAL);
	assert_string_equal(error.text, "--buffer 1KB: wanted a size from 8KB to 4096MB, as 8MB");
}

static void assert_values(const struct option_spec *table, size_t n, const void *at, const char *is)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct json json = {.out = out};

	json_object(&json, NULL);
	option_values(&json, table, n, at);
	json_end(&json);
	fclose(out);
	assert_string_equal(text, is);
	free(text);
}

static void test_values_are_written_in_one_form(void **state)
{
	static const struct option_spec places[] = {
		{"core", OPTION_CORE, offsetof(struct placed, core), "", "", NULL, 0, 0},
		{"cores", OPTION_CPUS, offsetof(struct placed, cpus), "", "", NULL, 0, 0},
		{"buffer", OPTION_SIZE, offsetof(struct placed, bytes), "8 MiB", "", NULL, 0, 0},
		{"offset", OPTION_SIGNED_DURATION, offsetof(struct placed, offset_ns), "-1.5 us",
			"", NULL, 0, 0},
		{"above", OPTION_SIGNED_DURATION, offsetof(struct placed, above_ns), "", "", NULL,
			0, 0},
	};
	struct options options;
	struct placed out;

	assert_int_equal(parse("fast,size=064,time= 1.5 ms,share=5e-1,item=p,item=q", &options), 0);
	assert_values(specs, N_SPECS, &options,
		"{\"fast\":true,\"size\":\"64\",\"time\":\"1500000ns\",\"name\":\"x\","
		"\"mode\":\"slow\",\"share\":\"0.5\",\"item\":[\"p\",\"q\"]}");
	option_defaults(places, 5, &out);
	assert_values(places, 5, &out,
		"{\"core\":null,\"cores\":null,\"buffer\":\"8388608\","
		"\"offset\":\"-1500ns\",\"above\":null}");
	assert_int_equal(place(&places[0], "007", &out), 0);
	assert_int_equal(place(&places[1], "3, 0-1,2", &out), 0);
	assert_values(places, 2, &out, "{\"core\":\"7\",\"cores\":\"0-3\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_text_gives_the_defaults),
		cmocka_unit_test(test_every_type_is_parsed),
		cmocka_unit_test(test_durations_are_those_of_the_grammar),
		cmocka_unit_test(test_signed_durations_are_those_of_the_grammar),
		cmocka_unit_test(test_bad_input_names_owner_key_and_what_is_accepted),
		cmocka_unit_test(test_unknown_key_of_an_owner_without_options_is_refused),
		cmocka_unit_test(test_required_option_left_out_is_refused),
		cmocka_unit_test(test_more_items_than_a_list_holds_are_refused),
		cmocka_unit_test(test_a_core_is_one_number),
		cmocka_unit_test(test_cores_are_a_list),
		cmocka_unit_test(test_unsaid_cores_are_left_to_the_program),
		cmocka_unit_test(test_sizes_are_those_of_the_grammar),
		cmocka_unit_test(test_sizes_have_bounds),
		cmocka_unit_test(test_values_are_written_in_one_form),
		cmocka_unit_test(test_description_is_json_with_every_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
