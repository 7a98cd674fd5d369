#include "device_use.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	NS_PER_US = 1000,
	STATES_MAX = 16,
};

static void read_process(struct device_use *out, pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return;
	out->has_process = true;
	out->process_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

// Read one word of a state's file, as "%15s" or a number.
static bool read_word(
	const char *cores, int core, int state, const char *name, const char *format, void *out)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/cpu%d/cpuidle/state%d/%s", cores, core, state, name);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	bool found = fscanf(file, format, out) == 1;
	fclose(file);
	return found;
}

static void read_core(struct device_use *out, int core, const char *cores)
{
	for (int state = 0; state < STATES_MAX; state++) {
		char name[16];
		uint64_t time_us;
		if (!read_word(cores, core, state, "name", "%15s", name) ||
			!read_word(cores, core, state, "time", "%" SCNu64, &time_us))
			return;
		out->has_core = true;
		if (strcmp(name, "POLL") == 0)
			out->idle_poll_ns += time_us * NS_PER_US;
		else
			out->asleep_ns += time_us * NS_PER_US;
	}
}

void device_use_take(struct device_use *out, pid_t pid, int core, const char *cores)
{
	*out = (struct device_use){0};
	read_process(out, pid);
	read_core(out, core, cores != NULL ? cores : "/sys/devices/system/cpu");
}

struct device_use device_use_between(
	const struct device_use *before, const struct device_use *after)
{
	return (struct device_use){
		.has_process = before->has_process && after->has_process,
		.has_core = before->has_core && after->has_core,
		.process_ns = after->process_ns - before->process_ns,
		.idle_poll_ns = after->idle_poll_ns - before->idle_poll_ns,
		.asleep_ns = after->asleep_ns - before->asleep_ns,
	};
}
