#include "test_folder.h"
#include "text_lines.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct text_lines lines;
static struct error error;

static void read_text(const char *text, size_t len)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, len, "r");

	assert_non_null(file);
	text_lines_read(&lines, file, "rules");
}

static void assert_token(size_t i, const char *text, unsigned int column)
{
	assert_true(i < lines.n);
	assert_string_equal(lines.tokens[i].text, text);
	assert_int_equal(lines.tokens[i].column, column);
}

static void test_tokens_know_their_columns(void **state)
{
	static const char text[] = "default via 192.0.2.1\n\n \t# a remark\n\t10.0.0.0/8  dev 1#\n";

	read_text(text, strlen(text));
	assert_int_equal(text_lines_next(&lines, &error), 1);
	assert_int_equal(lines.n, 3);
	assert_token(0, "default", 1);
	assert_token(1, "via", 9);
	assert_token(2, "192.0.2.1", 13);
	assert_int_equal(lines.end_column, 22);

	assert_int_equal(text_lines_next(&lines, &error), 1);
	assert_int_equal(lines.number, 4);
	assert_int_equal(lines.n, 3);
	assert_token(0, "10.0.0.0/8", 2);
	assert_token(1, "dev", 14);
	assert_token(2, "1#", 18); // no comment begins within a token

	assert_int_equal(text_lines_next(&lines, &error), 0);
	text_lines_close(&lines);
}

static void test_a_comment_ends_the_line(void **state)
{
	static const char text[] = "a #b c\r\nd";

	read_text(text, strlen(text));
	assert_int_equal(text_lines_next(&lines, &error), 1);
	assert_int_equal(lines.n, 1);
	assert_int_equal(lines.end_column, 2);
	// The last line has no end.
	assert_int_equal(text_lines_next(&lines, &error), 1);
	assert_token(0, "d", 1);
	assert_int_equal(text_lines_next(&lines, &error), 0);
	text_lines_close(&lines);
}

static void test_what_is_wrong_is_told_with_its_place(void **state)
{
	static const char text[] = "one\ntwo three\n";

	read_text(text, strlen(text));
	assert_int_equal(text_lines_next(&lines, &error), 1);
	assert_int_equal(text_lines_next(&lines, &error), 1);
	assert_int_equal(text_lines_fail(&lines, lines.tokens[1].column, &error,
				 "%s: unknown; write four", lines.tokens[1].text),
		-EINVAL);
	assert_string_equal(error.text, "rules:2:5: three: unknown; write four");
	text_lines_close(&lines);
}

static void test_bytes_that_are_no_text_are_refused(void **state)
{
	read_text("ab\0c\n", 5);
	assert_int_equal(text_lines_next(&lines, &error), -EINVAL);
	assert_string_equal(error.text, "rules:1:3: byte 0x00 is no text; name a text file");
	text_lines_close(&lines);
}

static void test_a_line_has_its_longest(void **state)
{
	char *text = malloc(2 * TEXT_LINE_MAX);

	assert_non_null(text);
	memset(text, 'x', 2 * TEXT_LINE_MAX);
	text[TEXT_LINE_MAX - 1] = '\n';
	read_text(text, 2 * TEXT_LINE_MAX);
	assert_int_equal(text_lines_next(&lines, &error), 1);
	assert_int_equal(strlen(lines.tokens[0].text), TEXT_LINE_MAX - 1);
	assert_int_equal(text_lines_next(&lines, &error), -EINVAL);
	assert_string_equal(error.text, "rules:2:4096: a line may have 4095 bytes; break it");
	text_lines_close(&lines);

	for (int i = 0; i < TEXT_TOKENS_MAX + 1; i++)
		memcpy(&text[2 * i], "x ", 2);
	read_text(text, 2 * (TEXT_TOKENS_MAX + 1));
	assert_int_equal(text_lines_next(&lines, &error), -EINVAL);
	assert_string_equal(error.text, "rules:1:257: a line may have 128 words; break it");
	text_lines_close(&lines);
	free(text);
}

static void test_a_file_that_cannot_be_read_is_named(void **state)
{
	assert_int_equal(text_lines_open(&lines, "/nonexistent/rules", &error), -ENOENT);
	assert_non_null(strstr(error.text, "/nonexistent/rules: No such file"));
	text_lines_close(&lines);

	assert_int_equal(text_lines_open(&lines, "/", &error), 0);
	assert_int_equal(text_lines_next(&lines, &error), -EISDIR);
	assert_non_null(strstr(error.text, "/: Is a directory"));
	text_lines_close(&lines);
}

static void test_a_pipe_is_refused(void **state)
{
	char pipe[64];

	snprintf(pipe, sizeof(pipe), "%s/rules", test_folder);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(text_lines_open(&lines, pipe, &error), -EINVAL);
	assert_non_null(strstr(error.text, "rules: a pipe can be read but once; write it to"));
	text_lines_close(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens_know_their_columns),
		cmocka_unit_test(test_a_comment_ends_the_line),
		cmocka_unit_test(test_what_is_wrong_is_told_with_its_place),
		cmocka_unit_test(test_bytes_that_are_no_text_are_refused),
		cmocka_unit_test(test_a_line_has_its_longest),
		cmocka_unit_test(test_a_file_that_cannot_be_read_is_named),
		cmocka_unit_test(test_a_pipe_is_refused),
	};

	return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
