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
static const char wakeup_format[] =
	"name: sched_wakeup\nID: 373\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";

static const char *below(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", test_folder, name);
	return path;
}

static void make_event(const char *group, const char *name, const char *format)
{
	const char *const folders[] = {"events", group, name};
	char path[100];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		(void)mkdir(below(folders[i]), 0700);
	snprintf(path, sizeof(path), "%s/format", name);
	FILE *file = fopen(below(path), "w");
	assert_non_null(file);
	assert_true(fputs(format, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

// What the last event was asked for with. Before the instance's (--wrap).
static char asked[4096];
int __wrap_instance_enable(const struct instance *instance, const char *event, const char *filter);

int __wrap_instance_enable(const struct instance *instance, const char *event, const char *filter)
{
	snprintf(asked, sizeof(asked), "%s", filter);
	return 0;
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

	make_event("events/exceptions", "events/exceptions/page_fault_user", fault_format);
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

static void who_wakes_on_the_cores_is_asked_for_though_the_threads_are_too_many(void **state)
{
	static struct trace_config config = {.groups = 1U << GROUP_WAKEUP};
	static struct collector collector = {.config = &config};
	struct error error = {0};

	make_event("events/sched", "events/sched/sched_wakeup", wakeup_format);
	config.root = test_folder;
	CPU_SET(3, &config.cores);
	for (uint32_t i = 0; i < TRACE_THREADS_MAX; i++)
		config.threads[i] = 1000000 + 2 * i;
	collector.decoder = decoder_create(&config.cores, &collector.names);
	assert_non_null(collector.decoder);

	for (config.n_threads = 1; config.n_threads <= TRACE_THREADS_MAX; config.n_threads += 255) {
		assert_int_equal(arm_events(&collector, &error), 0);
		assert_int_equal(collector.rows[row_of("sched/sched_wakeup")], ROW_ON);
		assert_string_equal(asked, config.n_threads == 1
						   ? "target_cpu == 3 || pid == 1000000"
						   : "target_cpu == 3");
	}
	decoder_destroy(collector.decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			threads_that_a_filter_has_no_room_for_are_no_refusal_of_the_kernel),
		cmocka_unit_test(
			who_wakes_on_the_cores_is_asked_for_though_the_threads_are_too_many),
	};

	return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
