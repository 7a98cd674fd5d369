#include "counters.h"
#include "cpu_list.h"
#include "decode.h"
#include "pid_namespace.h"
#include "symbols.h"
#include "trace_options.h"
#include "tracefs.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

static FILE *file_of(const char *text)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	rewind(file);
	return file;
}

static void see(struct name_map *map, uint64_t address, enum address_tag tag)
{
	name_map_take(map, address)->tag = (uint8_t)tag;
}

static void a_full_map_counts_what_it_refuses(void **state)
{
	struct name_map map;

	name_map_init(&map, 1000);
	for (uint64_t key = 0; key < 1005; key++) {
		struct name_entry *entry = name_map_take(&map, key * 4096);
		if (entry != NULL)
			name_entry_set(entry, "a name", 3);
	}
	assert_int_equal(map.n, 1000);
	assert_int_equal(map.n_refused, 5);
	assert_string_equal(name_map_find(&map, UINT64_C(999) * 4096)->text, "a n");
	assert_null(name_map_find(&map, UINT64_C(1003) * 4096));
	name_map_destroy(&map);
}

static void room_taken_at_once_stays_and_growing_loses_no_name(void **state)
{
	enum { N = 300 };
	struct name_map map;

	name_map_init(&map, 1000);
	assert_true(name_map_reserve(&map, N));
	const struct name_entry *entries = map.entries;
	for (uint64_t key = 0; key < N; key++)
		name_entry_set(name_map_take(&map, key), "a name", 6);
	assert_ptr_equal(map.entries, entries);
	assert_true(name_map_reserve(&map, N));
	assert_ptr_equal(map.entries, entries);

	for (uint64_t key = N; key < 3 * N; key++)
		assert_non_null(name_map_take(&map, key));
	for (uint64_t key = 0; key < N; key++)
		assert_string_equal(name_map_find(&map, key)->text, "a name");
	name_map_destroy(&map);
}

static void addresses_are_named_by_the_symbol_they_are_in(void **state)
{
	static const char table[] = "0000000000001000 T first\n"
				    "0000000000003000 t third\n"
				    "0000000000003000 t third_alias\n"
				    "0000000000002000 t second\t[module]\n"
				    "0000000000002080 d data\n";
	struct name_map map;
	FILE *file = file_of(table);

	name_map_init(&map, 100);
	see(&map, 0x1000, ADDRESS_FUNCTION);
	see(&map, 0x2090, ADDRESS_CALLSITE);
	see(&map, 0x3000, ADDRESS_FUNCTION);
	see(&map, 0x3008, ADDRESS_FUNCTION); // not where a function begins
	see(&map, 0x800, ADDRESS_CALLSITE); // below all
	see(&map, 0x900000, ADDRESS_CALLSITE); // in none of them
	assert_int_equal(symbols_name(&map, file, true), 0);
	fclose(file);

	assert_string_equal(name_map_find(&map, 0x1000)->text, "first");
	assert_string_equal(name_map_find(&map, 0x2090)->text, "second");
	assert_string_equal(name_map_find(&map, 0x3000)->text, "third");
	assert_string_equal(name_map_find(&map, 0x3008)->text, "");
	assert_string_equal(name_map_find(&map, 0x800)->text, "");
	assert_string_equal(name_map_find(&map, 0x900000)->text, "");
	name_map_destroy(&map);
}

static void hidden_addresses_are_told_from_unknown_ones(void **state)
{
	struct name_map map;
	FILE *hidden = file_of("0000000000000000 T first\n");
	FILE *entries = file_of("1004 first\n2034 second [module]\n");

	name_map_init(&map, 100);
	see(&map, 0x1000, ADDRESS_FUNCTION);
	see(&map, 0x2030, ADDRESS_FUNCTION);
	assert_int_equal(symbols_name(&map, hidden, true), -ENOENT);
	assert_string_equal(name_map_find(&map, 0x1000)->text, "");
	assert_int_equal(symbols_name(&map, entries, false), 0);
	assert_string_equal(name_map_find(&map, 0x1000)->text, "first");
	assert_string_equal(name_map_find(&map, 0x2030)->text, "second");
	fclose(hidden);
	fclose(entries);
	name_map_destroy(&map);
}

static bool comm_of(int pid, char *comm, size_t len)
{
	snprintf(comm, len, "%s", pid == 7 ? "taut-trace" : "bash");
	return pid != 9;
}

static const char *named(int pid, uint64_t namespace, const char *end)
{
	static char name[64];

	snprintf(name, sizeof(name), "taut-%d-%" PRIu64 "%s", pid, namespace, end);
	return name;
}

static void only_what_dead_collectors_left_is_stale(void **state)
{
	assert_false(tracefs_is_stale("taut-7", comm_of));
	assert_false(tracefs_is_stale("taut-7-all", comm_of));
	assert_true(tracefs_is_stale("taut-9", comm_of));
	assert_true(tracefs_is_stale("taut-9-all", comm_of));
	assert_true(tracefs_is_stale("taut-8", comm_of)); // the number is another's now
	assert_true(tracefs_is_stale(named(9, pid_namespace(), ""), comm_of));
	assert_true(tracefs_is_stale(named(9, pid_namespace(), "-all"), comm_of));
	assert_false(tracefs_is_stale(named(7, pid_namespace(), "-all"), comm_of));
	assert_false(tracefs_is_stale(named(9, pid_namespace(), "-other"), comm_of));
	assert_false(tracefs_is_stale("taut-audit-9", comm_of));
	assert_false(tracefs_is_stale("taut-9-other", comm_of));
	assert_false(tracefs_is_stale("taut-", comm_of));
	assert_false(tracefs_is_stale("rtla", comm_of));
}

// Of a process in another container nobody can tell here whether it lives.
static void what_another_pid_namespace_has_is_not_stale(void **state)
{
	assert_false(tracefs_is_stale(named(9, pid_namespace() + 1, ""), comm_of));
	assert_false(tracefs_is_stale(named(9, pid_namespace() + 1, "-all"), comm_of));
}

static void an_instance_names_its_process_and_its_namespace(void **state)
{
	char path[TRACEFS_PATH_LEN];

	assert_string_equal(strrchr(tracefs_instance_path("/t", 9, false, path), '/') + 1,
		named(9, pid_namespace(), ""));
	assert_string_equal(strrchr(tracefs_instance_path("/t", 9, true, path), '/') + 1,
		named(9, pid_namespace(), "-all"));
}

static char *printed(void (*print)(struct json *, const char *, FILE *, const cpu_set_t *),
	const char *text, const char *cores)
{
	char *out = NULL;
	size_t size;
	cpu_set_t set;
	FILE *from = file_of(text);
	struct json json = {.out = open_memstream(&out, &size)};

	assert_int_equal(cpu_list_parse(cores, &set), 0);
	print(&json, NULL, from, &set);
	fclose(from);
	fclose(json.out);
	return out;
}

static void rows_of_counters_are_those_of_the_watched_cores(void **state)
{
	char *text = printed(counters_print_rows,
		"           CPU0       CPU2\n"
		"  24:         10         30  PCI-MSI  virtio0-input.0\n"
		" LOC:          1          3   Local timer interrupts\n"
		" ERR:          0\n",
		"2");

	assert_string_equal(text, "{\"24\":{\"2\":30},\"LOC\":{\"2\":3},\"ERR\":{}}");
	free(text);
	text = printed(counters_print_rows, "nothing\n", "0");
	assert_string_equal(text, "{}");
	free(text);
}

static void steal_is_the_eighth_column(void **state)
{
	char *text = printed(counters_print_steal,
		"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 18 0 0\n"
		"intr 1\n",
		"0,1");

	assert_string_equal(text, "{\"0\":8,\"1\":18}");
	free(text);
}

static char *counters_of(uint32_t thread, bool is_before)
{
	cpu_set_t none;

	CPU_ZERO(&none);
	struct throttling *throttling = throttling_create("");
	char *text = counters_text(&none, &thread, 1, throttling, is_before);
	throttling_destroy(throttling);
	return text;
}

static void a_thread_is_counted_whatever_it_is_called(void **state)
{
	static const char *const names[] = {"plain", "(a) b", "two\nlines", ") S 1 2 3"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		char *text = counters_of((uint32_t)gettid(), true);
		const char *faults = strstr(text, "\"minflt\":");
		assert_non_null(faults);
		assert_true(strtoull(faults + strlen("\"minflt\":"), NULL, 10) > 10);
		free(text);
	}
	char *text = counters_of(UINT32_MAX, false);
	assert_non_null(strstr(text, "\"threads\":{\"4294967295\":null}"));
	free(text);
}

// Reading another core's register of system management interrupts interrupts that core.
static void what_reading_firmwares_counter_does_is_not_counted(void **state)
{
	for (int is_before = 0; is_before <= 1; is_before++) {
		char *text = counters_of(UINT32_MAX, is_before);
		const char *smi = strstr(text, "\"smi\":"),
			   *interrupts = strstr(text, "\"interrupts\":");
		assert_true(smi != NULL && interrupts != NULL);
		assert_int_equal(smi < interrupts, is_before);
		free(text);
	}
}

static void a_fitted_clock_goes_on_in_both_directions(void **state)
{
	struct trace_clock clock = {
		.before = {.tsc = 1000000, .mono_raw_ns = 5000000000},
		.after = {.tsc = 1000000 + 2500, .mono_raw_ns = 5000000000 + 1000},
	};

	assert_int_equal(trace_clock_ticks(&clock, 5000000000), 1000000);
	assert_int_equal(trace_clock_ticks(&clock, 5000000000 + 400), 1001000);
	assert_int_equal(trace_clock_ticks(&clock, 5000000000 + 4000), 1010000);
	assert_int_equal(trace_clock_ticks(&clock, 5000000000 - 400), 999000);
	clock.is_tsc = true;
	assert_int_equal(trace_clock_ticks(&clock, 77), 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_map_counts_what_it_refuses),
		cmocka_unit_test(room_taken_at_once_stays_and_growing_loses_no_name),
		cmocka_unit_test(addresses_are_named_by_the_symbol_they_are_in),
		cmocka_unit_test(hidden_addresses_are_told_from_unknown_ones),
		cmocka_unit_test(only_what_dead_collectors_left_is_stale),
		cmocka_unit_test(what_another_pid_namespace_has_is_not_stale),
		cmocka_unit_test(an_instance_names_its_process_and_its_namespace),
		cmocka_unit_test(rows_of_counters_are_those_of_the_watched_cores),
		cmocka_unit_test(steal_is_the_eighth_column),
		cmocka_unit_test(a_thread_is_counted_whatever_it_is_called),
		cmocka_unit_test(what_reading_firmwares_counter_does_is_not_counted),
		cmocka_unit_test(a_fitted_clock_goes_on_in_both_directions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
