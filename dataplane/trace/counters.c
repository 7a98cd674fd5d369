#include "counters.h"

#include "clock.h"
#include "json_writer.h"
#include "key_value.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PATH_LEN = 512,
	LINE_LEN = 1024,
	MSR_SMI_COUNT = 0x34, // Intel SDM vol. 4, table 2-20: MSR_SMI_COUNT
	// Of /proc/PID/stat (proc(5)), counted from the one behind the state.
	MINFLT_COLUMN = 6,
	MAJFLT_COLUMN = 8,
	STEAL_COLUMN = 8, // proc(5), /proc/stat: user nice system idle iowait irq softirq steal
};

// "  CPU0  CPU3": which CPU each column is of. Returns how many.
static size_t parse_columns(const char *line, int *cpus, size_t most)
{
	size_t n = 0;

	for (const char *at = line; n < most && (at = strstr(at, "CPU")) != NULL; at += 3)
		cpus[n++] = (int)strtol(at + 3, NULL, 10);
	return n;
}

static void print_row(
	struct json *json, char *line, const int *cpus, size_t n, const cpu_set_t *cores)
{
	char *colon = strchr(line, ':');

	if (colon == NULL)
		return;
	*colon = '\0';
	char *at = colon + 1;
	json_object(json, line + strspn(line, " "));
	for (size_t i = 0; i < n; i++) {
		char *end;
		uint64_t value = strtoull(at, &end, 10);
		// ERR and MIS are one number for all.
		if (end == at)
			break;
		at = end;
		if (!CPU_ISSET((size_t)cpus[i], cores))
			continue;
		json_name_u64(json, (uint64_t)cpus[i]);
		json_u64(json, NULL, value);
	}
	json_end(json);
}

void counters_print_rows(struct json *json, const char *name, FILE *rows, const cpu_set_t *cores)
{
	int cpus[CPU_SETSIZE];
	char *line = NULL;
	size_t size = 0, n = 0;

	json_object(json, name);
	if (rows != NULL && getline(&line, &size, rows) > 0)
		n = parse_columns(line, cpus, CPU_SETSIZE);
	while (n > 0 && getline(&line, &size, rows) > 0)
		print_row(json, line, cpus, n, cores);
	json_end(json);
	free(line);
}

void counters_print_steal(struct json *json, const char *name, FILE *stat, const cpu_set_t *cores)
{
	char line[LINE_LEN];

	json_object(json, name);
	while (stat != NULL && fgets(line, sizeof(line), stat) != NULL) {
		char *at;
		uint64_t value = 0;
		if (strncmp(line, "cpu", 3) != 0 || !isdigit((unsigned char)line[3]))
			continue;
		unsigned long cpu = strtoul(line + 3, &at, 10);
		if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, cores))
			continue;
		for (int i = 0; i < STEAL_COLUMN; i++)
			value = strtoull(at, &at, 10);
		json_name_u64(json, cpu);
		json_u64(json, NULL, value);
	}
	json_end(json);
}

static void print_file(struct json *json, const char *name, const char *path,
	const cpu_set_t *cores,
	void (*print)(struct json *, const char *, FILE *, const cpu_set_t *))
{
	FILE *file = fopen(path, "re");

	print(json, name, file, cores);
	if (file != NULL)
		fclose(file);
}

// Interrupts of the firmware, of each core; null where it cannot be read: no /dev/cpu, or the
// processor has no such counter.
static void print_smi(struct json *json, const cpu_set_t *cores)
{
	json_object(json, "smi");
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		char path[PATH_LEN];
		uint64_t value;
		if (!CPU_ISSET(cpu, cores))
			continue;
		snprintf(path, sizeof(path), "/dev/cpu/%zu/msr", cpu);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		bool is_read = fd >= 0 && pread(fd, &value, sizeof(value), MSR_SMI_COUNT) ==
						  (ssize_t)sizeof(value);
		if (fd >= 0)
			close(fd);
		json_name_u64(json, cpu);
		if (is_read)
			json_u64(json, NULL, value & UINT32_MAX);
		else
			json_null(json, NULL);
	}
	json_end(json);
}

// Returns false when there is nothing to read: the thread has ended.
static bool read_start_of(const char *path, char *text, size_t len)
{
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return false;
	size_t n = fread(text, 1, len - 1, file);
	text[n] = '\0';
	fclose(file);
	return n > 0;
}

// The n-th number of a line, from 0; 0 when there is none.
static uint64_t column(const char *at, int n)
{
	char *end;
	uint64_t value = 0;

	for (int i = 0; i <= n; i++) {
		value = strtoull(at, &end, 10);
		at = end;
	}
	return value;
}

static void print_column(struct json *json, const char *name, const char *at, int n)
{
	if (at != NULL)
		json_u64(json, name, column(at, n));
	else
		json_null(json, name);
}

static void print_stat(struct json *json, const char *folder)
{
	char path[PATH_LEN], text[LINE_LEN];
	const char *at = NULL;

	snprintf(path, sizeof(path), "%s/stat", folder);
	// The name may hold anything, even brackets and the end of a line: count from the last one,
	// behind the state.
	if (read_start_of(path, text, sizeof(text)) && (at = strrchr(text, ')')) != NULL)
		at += strnlen(at, 3);
	print_column(json, "minflt", at, MINFLT_COLUMN);
	print_column(json, "majflt", at, MAJFLT_COLUMN);
	snprintf(path, sizeof(path), "%s/schedstat", folder);
	print_column(
		json, "run_delay_ns", read_start_of(path, text, sizeof(text)) ? text : NULL, 1);
}

static void print_switches(struct json *json, const char *folder)
{
	char path[PATH_LEN], line[LINE_LEN];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/status", folder);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (key_value(line, "voluntary_ctxt_switches:", &value))
			json_u64(json, "voluntary", value);
		else if (key_value(line, "nonvoluntary_ctxt_switches:", &value))
			json_u64(json, "nonvoluntary", value);
	}
	if (file != NULL)
		fclose(file);
}

static void print_thread(struct json *json, uint32_t thread, struct throttling *throttling)
{
	char folder[PATH_LEN / 2];

	json_name_u64(json, thread);
	snprintf(folder, sizeof(folder), "/proc/%u/task/%u", thread, thread);
	// Of one that has ended its control groups are left, if they are known.
	if (access(folder, F_OK) < 0 && !throttling_knows(throttling, thread)) {
		json_null(json, NULL);
		return;
	}
	json_object(json, NULL);
	print_stat(json, folder);
	print_switches(json, folder);
	throttling_see(throttling, thread, folder);
	throttling_print(throttling, json, thread);
	json_end(json);
}

char *counters_text(const cpu_set_t *cores, const uint32_t *threads, size_t n_threads,
	struct throttling *throttling, bool is_before)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct json json = {.out = out};

	if (out == NULL)
		return NULL;
	json_object(&json, NULL);
	json_u64(&json, "tsc", clock_tsc());
	// Reading another core's register interrupts it (arch/x86/lib/msr-smp.c): not between two
	// readings of how often it was interrupted.
	if (is_before)
		print_smi(&json, cores);
	print_file(&json, "interrupts", "/proc/interrupts", cores, counters_print_rows);
	print_file(&json, "softirqs", "/proc/softirqs", cores, counters_print_rows);
	print_file(&json, "steal_jiffies", "/proc/stat", cores, counters_print_steal);
	if (!is_before)
		print_smi(&json, cores);
	json_object(&json, "threads");
	for (size_t i = 0; i < n_threads; i++)
		print_thread(&json, threads[i], throttling);
	json_end(&json);
	json_end(&json);
	return fclose(out) == 0 ? text : NULL;
}
