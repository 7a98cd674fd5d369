// What becomes of rows that cannot be switched on, in a tracefs made by hand.

#include "arm.h"
#include "test_folder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char fault_format[] =
	"name: page_fault_user\nID: 117\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:unsigned long address;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long ip;\toffset:16;\tsize:8;\tsigned:0;\n";
static const char *const folders[] = {
	"events", "events/exceptions", "events/exceptions/page_fault_user"};

static const char *below(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", test_folder, name);
	return path;
}

static void make_tracefs(void)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert_int_equal(mkdir(below(folders[i]), 0700), 0);
	FILE *file = fopen(below("events/exceptions/page_fault_user/format"), "w");
	assert_non_null(file);
	assert_true(fputs(fault_format, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static size_t row_of(const char *name)
{
	size_t i = 0;

	while (strcmp(event_rows[i].name, name) != 0)
		i++;
	return i;
}

static void threads_that_a_filter_has_no_room_for_are_no_refusal_of_the_kernel(void **state)
{
	static struct trace_config config = {
		.n_threads = TRACE_THREADS_MAX, .groups = 1U << GROUP_FAULTS};
	static struct collector collector = {.config = &config};
	struct error error = {0};

	make_tracefs();
	config.root = test_folder;
	for (uint32_t i = 0; i < TRACE_THREADS_MAX; i++)
		config.threads[i] = 1000000 + 2 * i; // none beside another
	collector.decoder = decoder_create(&config.cores, &collector.names);
	assert_non_null(collector.decoder);

	assert_int_equal(arm_events(&collector, &error), -ENOENT);
	const char *why = arm_why_missing(collector.rows[row_of("exceptions/page_fault_user")]);
	assert_non_null(why);
	assert_non_null(strstr(why, "name fewer"));
	decoder_destroy(collector.decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			threads_that_a_filter_has_no_room_for_are_no_refusal_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
