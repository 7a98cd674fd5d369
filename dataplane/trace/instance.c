#include "instance.h"

#include "cpu_text.h"
#include "tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	NAME_LEN_MAX = 128,
	BUSY_TRIES = 100,
	BUSY_PAUSE_NS = 10000000,
};

struct instance {
	char path[TRACEFS_PATH_LEN];
};

// A new instance takes 1.4 MB of every CPU: give back what is not wanted, then take what is.
static int size_buffers(const struct instance *instance, const struct instance_config *config)
{
	char name[NAME_LEN_MAX], text[32];
	int err = tracefs_write(instance->path, "buffer_size_kb", "4");

	snprintf(text, sizeof(text), "%zu", (config->buffer_bytes + 1023) / 1024);
	for (size_t cpu = 0; err == 0 && cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &config->cpus))
			continue;
		snprintf(name, sizeof(name), "per_cpu/cpu%zu/buffer_size_kb", cpu);
		err = tracefs_write(instance->path, name, text);
	}
	return err;
}

static int set_up(
	const struct instance *instance, const struct instance_config *config, const char **what)
{
	char mask[CPU_SETSIZE];
	int err = tracefs_write(instance->path, *what = "tracing_on", "0");

	if (err == 0)
		err = tracefs_write(instance->path, *what = "trace_clock", config->clock);
	if (err == 0)
		err = tracefs_write(instance->path, *what = "tracing_cpumask",
			cpu_text_mask(&config->cpus, mask, sizeof(mask)));
	*what = "buffer_size_kb";
	if (err == 0)
		err = size_buffers(instance, config);
	// The reader is woken when half of a buffer is full. Kernels before 5.0 wake it always.
	if (err == 0)
		(void)tracefs_write(instance->path, "buffer_percent", "50");
	return err;
}

// Somebody may be looking at it; the kernel then says busy.
static void remove_folder(const struct instance *instance)
{
	static const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};

	for (int i = 0; i < BUSY_TRIES && rmdir(instance->path) < 0 && errno == EBUSY; i++)
		nanosleep(&pause, NULL);
}

static int make(
	struct instance *instance, const struct instance_config *config, struct error *error)
{
	const char *what = "";

	(void)tracefs_instance_path(config->root, getpid(), config->is_all, instance->path);
	if (mkdir(instance->path, 0700) < 0) {
		int err = -errno;
		error_set(error, "%s: %s; run as root, where tracing is not locked down",
			instance->path, strerror(-err));
		return err;
	}
	int err = set_up(instance, config, &what);
	if (err < 0) {
		error_set(error, "%s/%s: %s%s", instance->path, what, strerror(-err),
			err == -ENOMEM ? "; lower --buffer" : "");
		remove_folder(instance);
	}
	return err;
}

int instance_make(struct instance **out, const struct instance_config *config, struct error *error)
{
	struct instance *instance = calloc(1, sizeof(*instance));
	int err = -ENOMEM;

	*out = instance;
	if (instance == NULL)
		error_set(error, "out of memory");
	else
		err = make(instance, config, error);
	if (err < 0) {
		free(instance);
		*out = NULL;
	}
	return err;
}

const char *instance_path(const struct instance *instance)
{
	return instance->path;
}

int instance_enable(const struct instance *instance, const char *event, const char *filter)
{
	char name[NAME_LEN_MAX];
	int err = 0;

	if (*filter != '\0') {
		snprintf(name, sizeof(name), "events/%s/filter", event);
		err = tracefs_write(instance->path, name, filter);
	}
	snprintf(name, sizeof(name), "events/%s/enable", event);
	return err < 0 ? err : tracefs_write(instance->path, name, "1");
}

int instance_switch(const struct instance *instance, bool on)
{
	return tracefs_write(instance->path, "tracing_on", on ? "1" : "0");
}

void instance_remove(struct instance *instance)
{
	if (instance == NULL)
		return;
	remove_folder(instance);
	free(instance);
}
