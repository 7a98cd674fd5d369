#include "log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char said[4096];

// What reaches standard error while function runs.
static void listen(void (*function)(void))
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);

	assert_non_null(file);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	function();
	fflush(stderr);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	rewind(file);
	size_t n = fread(said, 1, sizeof(said) - 1, file);
	said[n] = '\0';
	fclose(file);
}

static void say_all(void)
{
	LOG(ERROR, "port %s: no link", "memif:a");
	LOG(WARNING, "%d pages", 3);
	LOG(INFO, "armed");
}

static void a_line_names_its_program(void **state)
{
	log_start("taut-x", LOG_LEVEL_INFO);
	listen(say_all);
	assert_string_equal(
		said, "taut-x: port memif:a: no link\ntaut-x: 3 pages\ntaut-x: armed\n");
}

static void lines_above_the_level_are_dropped(void **state)
{
	log_start("taut-x", LOG_LEVEL_WARNING);
	listen(say_all);
	assert_string_equal(said, "taut-x: port memif:a: no link\ntaut-x: 3 pages\n");
	log_start("taut-x", LOG_LEVEL_ERROR);
	listen(say_all);
	assert_string_equal(said, "taut-x: port memif:a: no link\n");
}

static void say_long(void)
{
	char text[3000];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	LOG(ERROR, "%s", text);
}

static void a_long_line_is_cut_and_ends(void **state)
{
	log_start("x", LOG_LEVEL_ERROR);
	listen(say_long);
	assert_int_equal(strlen(said), strlen("x: ") + 1023 + 1);
	assert_int_equal(said[strlen(said) - 1], '\n');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_names_its_program),
		cmocka_unit_test(lines_above_the_level_are_dropped),
		cmocka_unit_test(a_long_line_is_cut_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
