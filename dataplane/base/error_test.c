#include "error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void set_replaces(void **state)
{
	struct error error = {"a longer text of somebody else"};

	error_set(&error, "--core %d: %s", 7, "no such core");
	assert_string_equal(error.text, "--core 7: no such core");
}

static void append_grows_a_list(void **state)
{
	struct error error = {0};

	error_set(&error, "no such cause; known:");
	error_append(&error, " %s", "timer");
	error_append(&error, " %s", "softirq");
	assert_string_equal(error.text, "no such cause; known: timer softirq");
}

static void prefix_comes_before(void **state)
{
	struct error error = {"begins with 0x00000000"};

	error_prefix(&error, "%s", "before.pcap");
	error_prefix(&error, "--ingress");
	assert_string_equal(error.text, "--ingress: before.pcap: begins with 0x00000000");
}

static void set_by_list(struct error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_vset(error, format, args);
	va_end(args);
}

static void vset_takes_the_arguments_of_another(void **state)
{
	struct error error = {"old"};

	set_by_list(&error, "%s of %d", "core", 3);
	assert_string_equal(error.text, "core of 3");
}

// However long: what fits is kept, ends in NUL, and nothing is written behind it.
static void a_long_line_is_cut(void **state)
{
	struct {
		struct error error;
		char behind;
	} guarded = {.behind = 'x'};
	char text[2 * ERROR_TEXT_MAX];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&guarded.error, "%s", text);
	assert_int_equal(strlen(guarded.error.text), ERROR_TEXT_MAX - 1);
	error_append(&guarded.error, "%s", text);
	assert_int_equal(strlen(guarded.error.text), ERROR_TEXT_MAX - 1);
	error_prefix(&guarded.error, "whose");
	assert_int_equal(strlen(guarded.error.text), ERROR_TEXT_MAX - 1);
	assert_memory_equal(guarded.error.text, "whose: aaa", 10);
	assert_int_equal(guarded.behind, 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_replaces),
		cmocka_unit_test(append_grows_a_list),
		cmocka_unit_test(prefix_comes_before),
		cmocka_unit_test(vset_takes_the_arguments_of_another),
		cmocka_unit_test(a_long_line_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
