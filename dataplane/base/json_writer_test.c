#include "json_writer.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char *text;
static size_t text_len;

static struct json to_text(void)
{
	return (struct json){.out = open_memstream(&text, &text_len)};
}

static void assert_written(struct json *json, const char *wanted)
{
	assert_int_equal(json_done(json), 0);
	fclose(json->out);
	assert_string_equal(text, wanted);
	free(text);
}

static void every_kind_of_value_is_written(void **state)
{
	struct json json = to_text();

	json_object(&json, NULL);
	json_u64(&json, "most", UINT64_MAX);
	json_i64(&json, "least", INT64_MIN);
	json_fixed(&json, "hz", 2e9, 3);
	json_double(&json, "share", 1.0 / 3, 3);
	json_bool(&json, "yes", true);
	json_bool(&json, "no", false);
	json_null(&json, "nothing");
	json_text(&json, "text", "a");
	json_text(&json, "no_text", NULL);
	json_raw(&json, "raw", "{\"a\":[]}");
	json_raw(&json, "no_raw", NULL);
	json_end(&json);
	assert_written(&json, "{\"most\":18446744073709551615,\"least\":-9223372036854775808,"
			      "\"hz\":2000000000.000,\"share\":0.333,\"yes\":true,\"no\":false,"
			      "\"nothing\":null,\"text\":\"a\",\"no_text\":null,"
			      "\"raw\":{\"a\":[]},\"no_raw\":null}\n");
}

static void commas_stand_between_members_only(void **state)
{
	struct json json = to_text();

	json_array(&json, NULL);
	json_object(&json, NULL);
	json_end(&json);
	json_array(&json, NULL);
	json_u64(&json, NULL, 1);
	json_u64(&json, NULL, 2);
	json_end(&json);
	json_object(&json, NULL);
	json_name_u64(&json, 7);
	json_u64(&json, NULL, 70);
	json_name_u64(&json, 8);
	json_array(&json, NULL);
	json_end(&json);
	json_array(&json, "last");
	json_end(&json);
	json_end(&json);
	json_end(&json);
	assert_written(&json, "[{},[1,2],{\"7\":70,\"8\":[],\"last\":[]}]\n");
}

static void text_is_escaped_in_names_and_values(void **state)
{
	struct json json = to_text();

	json_object(&json, NULL);
	json_text(&json, "a\"b", "quote \" backslash \\ newline \n bell \a");
	json_text(&json, "utf-8", "\xc2\xb5s");
	json_end(&json);
	assert_written(&json,
		"{\"a\\\"b\":\"quote \\\" backslash \\\\ newline \\u000a bell \\u0007\","
		"\"utf-8\":\"\xc2\xb5s\"}\n");
}

// Names of threads are cut off at 15 bytes, in a character or not; those of files are any bytes.
static void what_is_no_utf8_is_replaced(void **state)
{
	static const char *const wrong[] = {
		"\xc2", // cut off
		"\xe2\x82", // the same: two bytes of three
		"\xff",
		"\x80",
		"\xc0\xaf", // '/' in two bytes
		"\xed\xa0\x80", // half of a pair of UTF-16
		"\xf4\x90\x80\x80", // above the last one
		"\xf8\x88\x80\x80\x80",
	};
	static const char all[] = "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"
				  "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\x7f";

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char wanted[64] = "\"a";
		struct json json = to_text();
		char given[16];
		snprintf(given, sizeof(given), "a%sz", wrong[i]);
		for (size_t j = 0; j < strlen(wrong[i]); j++)
			strcat(wanted, "\\ufffd");
		strcat(wanted, "z\"\n");
		json_text(&json, NULL, given);
		assert_written(&json, wanted);
	}
	struct json json = to_text();
	json_object(&json, NULL);
	json_text(&json, "\xc3", all);
	json_end(&json);
	assert_int_equal(json_done(&json), 0);
	fclose(json.out);
	static const char before[] = "{\"\\ufffd\":\"";
	assert_memory_equal(text, before, strlen(before));
	assert_memory_equal(text + strlen(before), all, strlen(all));
	free(text);
}

static void numbers_json_has_not_are_null(void **state)
{
	struct json json = to_text();

	json_array(&json, NULL);
	json_fixed(&json, NULL, NAN, 3);
	json_double(&json, NULL, INFINITY, 3);
	json_end(&json);
	assert_written(&json, "[null,null]\n");
}

static void a_full_disk_is_told_at_the_end(void **state)
{
	struct json json = {.out = fopen("/dev/full", "we")};

	if (json.out == NULL)
		skip();
	setvbuf(json.out, NULL, _IONBF, 0);
	json_u64(&json, NULL, 1);
	assert_int_equal(json_done(&json), -EIO);
	fclose(json.out);
}

static void name_missing(struct json *json)
{
	json_object(json, NULL);
	json_u64(json, NULL, 1);
}

static void name_in_an_array(struct json *json)
{
	json_array(json, NULL);
	json_u64(json, "n", 1);
}

static void name_without_a_value(struct json *json)
{
	json_object(json, NULL);
	json_name_u64(json, 1);
	json_end(json);
}

static void end_too_many(struct json *json)
{
	json_end(json);
}

static void end_too_few(struct json *json)
{
	json_object(json, NULL);
	(void)json_done(json);
}

static void two_documents(struct json *json)
{
	json_null(json, NULL);
	json_null(json, NULL);
}

static void too_deep(struct json *json)
{
	for (int i = 0; i <= JSON_DEPTH_MAX; i++)
		json_array(json, NULL);
}

static void a_wrong_document_stops_the_program(void **state)
{
	static void (*const wrong[])(struct json *) = {name_missing, name_in_an_array,
		name_without_a_value, end_too_many, end_too_few, two_documents, too_deep};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int status;
		pid_t pid = fork();
		if (pid == 0) {
			struct json json = {.out = fopen("/dev/null", "we")};
			// What assert says of it, and cmocka, is not for the log.
			fclose(stderr);
			signal(SIGABRT, SIG_DFL);
			wrong[i](&json);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_value_is_written),
		cmocka_unit_test(commas_stand_between_members_only),
		cmocka_unit_test(text_is_escaped_in_names_and_values),
		cmocka_unit_test(what_is_no_utf8_is_replaced),
		cmocka_unit_test(numbers_json_has_not_are_null),
		cmocka_unit_test(a_full_disk_is_told_at_the_end),
		cmocka_unit_test(a_wrong_document_stops_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
