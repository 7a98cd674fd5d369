#include "trace_options.h"

#include "cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cpu_folder[] = "/sys/devices/system/cpu";

enum {
	BUFFER_MIN = 8 << 10,
	PID_MAX = 1 << 22, // PID_MAX_LIMIT of 64-bit kernels
};
static const uint64_t buffer_max = UINT64_C(4) << 30;

int trace_parse_buffer(const char *text, uint64_t *out, char *error, size_t len)
{
	char *end = NULL;
	uint64_t unit = 0;
	uint64_t value = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;

	if (end != NULL && (*end == '\0' || strcmp(end, "B") == 0))
		unit = 1;
	else if (end != NULL && strcmp(end, "KB") == 0)
		unit = 1 << 10;
	else if (end != NULL && strcmp(end, "MB") == 0)
		unit = 1 << 20;
	if (unit == 0 || value > buffer_max / unit || value * unit < BUFFER_MIN) {
		snprintf(error, len, "--buffer %s: wanted a size from 8KB to 4096MB, as 8MB", text);
		return -EINVAL;
	}
	*out = value * unit;
	return 0;
}

int trace_parse_threads(const char *text, struct trace_config *config, char *error, size_t len)
{
	config->n_threads = 0;
	for (const char *at = text; *at != '\0';) {
		char *end;
		unsigned long thread = strtoul(at, &end, 10);
		bool is_number = isdigit((unsigned char)*at) && (*end == ',' || *end == '\0');
		if (!is_number || thread == 0 || thread > PID_MAX) {
			snprintf(error, len, "--threads %s: not thread numbers; write them as 7,9",
				text);
			return -EINVAL;
		}
		if (config->n_threads == TRACE_THREADS_MAX) {
			snprintf(error, len, "--threads: more than %d threads; name fewer",
				TRACE_THREADS_MAX);
			return -EINVAL;
		}
		config->threads[config->n_threads++] = (uint32_t)thread;
		at = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static bool read_cpus(const char *name, cpu_set_t *out)
{
	char *text = tracefs_read(cpu_folder, name);
	bool is_read = text != NULL && cpu_list_parse(text, out) == 0;

	free(text);
	if (!is_read)
		CPU_ZERO(out);
	return is_read;
}

int trace_parse_cores(const char *text, cpu_set_t *out, char *error, size_t len)
{
	cpu_set_t online, there;
	char list[256];

	if (cpu_list_parse(text, out) < 0) {
		snprintf(error, len, "--cores %s: not a list of cores; write it as 0-3,7", text);
		return -EINVAL;
	}
	if (!read_cpus("online", &online))
		return 0;
	CPU_AND(&there, out, &online);
	if (CPU_EQUAL(&there, out))
		return 0;
	snprintf(error, len, "--cores %s: not all online; online are %s", text,
		cpu_list_format(&online, list, sizeof(list)));
	return -EINVAL;
}

static bool move_to(const cpu_set_t *among, const cpu_set_t *but)
{
	cpu_set_t cpus, both;

	CPU_AND(&both, among, but);
	CPU_XOR(&cpus, among, &both);
	return CPU_COUNT(&cpus) > 0 && sched_setaffinity(0, sizeof(cpus), &cpus) == 0;
}

bool trace_move_away(const cpu_set_t *watched)
{
	cpu_set_t allowed, online, isolated, not_for_us;

	if (cpu_list_allowed(&allowed) == 0 && move_to(&allowed, watched))
		return true;
	(void)read_cpus("isolated", &isolated);
	CPU_OR(&not_for_us, watched, &isolated);
	return read_cpus("online", &online) && move_to(&online, &not_for_us);
}
