#include "counters.h"

#include "clock.h"
#include "json.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
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

static void print_row(FILE *out, char *line, const int *cpus, size_t n, const cpu_set_t *cores,
	const char *between)
{
	char *colon = strchr(line, ':');
	bool is_first = true;

	if (colon == NULL)
		return;
	*colon = '\0';
	char *at = colon + 1;
	fputs(between, out);
	json_string(out, line + strspn(line, " "));
	fputs(":{", out);
	for (size_t i = 0; i < n; i++) {
		char *end;
		uint64_t value = strtoull(at, &end, 10);
		// ERR and MIS are one number for all.
		if (end == at)
			break;
		at = end;
		if (!CPU_ISSET((size_t)cpus[i], cores))
			continue;
		fprintf(out, "%s\"%d\":%" PRIu64, is_first ? "" : ",", cpus[i], value);
		is_first = false;
	}
	fputc('}', out);
}

void counters_print_rows(FILE *out, FILE *rows, const cpu_set_t *cores)
{
	int cpus[CPU_SETSIZE];
	char *line = NULL;
	size_t size = 0, n = 0;
	const char *between = "";

	fputc('{', out);
	if (rows != NULL && getline(&line, &size, rows) > 0)
		n = parse_columns(line, cpus, CPU_SETSIZE);
	while (n > 0 && getline(&line, &size, rows) > 0) {
		print_row(out, line, cpus, n, cores, between);
		between = ",";
	}
	fputc('}', out);
	free(line);
}

void counters_print_steal(FILE *out, FILE *stat, const cpu_set_t *cores)
{
	char line[LINE_LEN];
	const char *between = "";

	fputc('{', out);
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
		fprintf(out, "%s\"%lu\":%" PRIu64, between, cpu, value);
		between = ",";
	}
	fputc('}', out);
}

static void print_file(FILE *out, const char *name, const char *path, const cpu_set_t *cores,
	void (*print)(FILE *, FILE *, const cpu_set_t *))
{
	FILE *file = fopen(path, "re");

	fprintf(out, ",\"%s\":", name);
	print(out, file, cores);
	if (file != NULL)
		fclose(file);
}

// Interrupts of the firmware, of each core; null where it cannot be read: no /dev/cpu, or the
// processor has no such counter.
static void print_smi(FILE *out, const cpu_set_t *cores)
{
	const char *between = "";

	fputs(",\"smi\":{", out);
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
		fprintf(out, "%s\"%zu\":", between, cpu);
		if (is_read)
			fprintf(out, "%" PRIu64, value & UINT32_MAX);
		else
			fputs("null", out);
		between = ",";
	}
	fputc('}', out);
}

static bool read_line_of(const char *path, char *line, size_t len)
{
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return false;
	bool is_read = fgets(line, (int)len, file) != NULL;
	fclose(file);
	return is_read;
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

// The number of a line "key value".
static bool value_of(const char *line, const char *key, uint64_t *out)
{
	size_t len = strlen(key);

	if (strncmp(line, key, len) != 0)
		return false;
	*out = strtoull(line + len, NULL, 10);
	return true;
}

static void print_stat(FILE *out, const char *folder)
{
	char path[PATH_LEN], line[LINE_LEN];
	const char *at = NULL;

	snprintf(path, sizeof(path), "%s/stat", folder);
	// The name may hold anything, even brackets: count from the last one, behind the state.
	if (read_line_of(path, line, sizeof(line)) && (at = strrchr(line, ')')) != NULL)
		at += strnlen(at, 3);
	fprintf(out, "\"minflt\":%" PRIu64 ",\"majflt\":%" PRIu64,
		at == NULL ? 0 : column(at, MINFLT_COLUMN),
		at == NULL ? 0 : column(at, MAJFLT_COLUMN));
	snprintf(path, sizeof(path), "%s/schedstat", folder);
	if (read_line_of(path, line, sizeof(line)))
		fprintf(out, ",\"run_delay_ns\":%" PRIu64, column(line, 1));
	else
		fputs(",\"run_delay_ns\":null", out);
}

static void print_switches(FILE *out, const char *folder)
{
	char path[PATH_LEN], line[LINE_LEN];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/status", folder);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (value_of(line, "voluntary_ctxt_switches:", &value))
			fprintf(out, ",\"voluntary\":%" PRIu64, value);
		else if (value_of(line, "nonvoluntary_ctxt_switches:", &value))
			fprintf(out, ",\"nonvoluntary\":%" PRIu64, value);
	}
	if (file != NULL)
		fclose(file);
}

// Throttling of one control group. Version 2 counts microseconds, version 1 nanoseconds.
static bool print_throttle(FILE *out, const char *mount, const char *group, const char *between)
{
	char path[2 * PATH_LEN], line[LINE_LEN];
	uint64_t n = 0, us = 0, value;
	bool is_there = false;

	snprintf(path, sizeof(path), "%s%s/cpu.stat", mount, group);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (value_of(line, "nr_throttled ", &n))
			is_there = true;
		else if (value_of(line, "throttled_time ", &value))
			us = value / 1000;
		else
			(void)value_of(line, "throttled_usec ", &us);
	}
	if (file != NULL)
		fclose(file);
	if (!is_there)
		return false;
	fputs(between, out);
	json_string(out, group);
	fprintf(out, ":{\"nr_throttled\":%" PRIu64 ",\"throttled_us\":%" PRIu64 "}", n, us);
	return true;
}

// A group is throttled by its own limit and by that of each group above it.
static bool print_groups_of(FILE *out, const char *mount, char *group, bool is_first)
{
	while (*group != '\0') {
		if (print_throttle(out, mount, group, is_first ? "" : ","))
			is_first = false;
		char *slash = strrchr(group, '/');
		if (slash == NULL)
			break;
		*slash = '\0';
	}
	return is_first;
}

static void print_cgroups(FILE *out, const char *folder)
{
	static const char *const unified[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	static const char *const first_version[] = {
		"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
	char path[PATH_LEN], line[LINE_LEN];
	bool is_first = true;

	snprintf(path, sizeof(path), "%s/cgroup", folder);
	fputs(",\"cgroups\":{", out);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		char *names = strchr(line, ':');
		char *group = names == NULL ? NULL : strchr(names + 1, ':');
		if (group == NULL)
			continue;
		*group++ = '\0';
		bool is_unified = names[1] == '\0';
		bool is_cpu = strcmp(names + 1, "cpu") == 0 || strstr(names, "cpu,") != NULL;
		if (!is_unified && !is_cpu)
			continue;
		const char *const *mounts = is_unified ? unified : first_version;
		const char *mount = access(mounts[0], F_OK) == 0 ? mounts[0] : mounts[1];
		// With both versions mounted the unified one has a folder of its own.
		if (is_unified && access(unified[1], F_OK) == 0)
			mount = unified[1];
		is_first = print_groups_of(out, mount, group, is_first);
	}
	if (file != NULL)
		fclose(file);
	fputc('}', out);
}

static void print_thread(FILE *out, uint32_t thread)
{
	char folder[PATH_LEN / 2];

	snprintf(folder, sizeof(folder), "/proc/%u/task/%u", thread, thread);
	if (access(folder, F_OK) < 0) {
		fputs("null", out);
		return;
	}
	fputc('{', out);
	print_stat(out, folder);
	print_switches(out, folder);
	print_cgroups(out, folder);
	fputc('}', out);
}

void counters_print(FILE *out, const cpu_set_t *cores, const uint32_t *threads, size_t n_threads)
{
	fprintf(out, "{\"tsc\":%" PRIu64, clock_tsc());
	print_file(out, "interrupts", "/proc/interrupts", cores, counters_print_rows);
	print_file(out, "softirqs", "/proc/softirqs", cores, counters_print_rows);
	print_file(out, "steal_jiffies", "/proc/stat", cores, counters_print_steal);
	print_smi(out, cores);
	fputs(",\"threads\":{", out);
	for (size_t i = 0; i < n_threads; i++) {
		fprintf(out, "%s\"%u\":", i > 0 ? "," : "", threads[i]);
		print_thread(out, threads[i]);
	}
	fputs("}}", out);
}
