#pragma once

// One trace instance of this process: its clock, CPUs, buffers and events. It records nothing
// before instance_switch.

#include "error.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct instance;

struct instance_config {
	const char *root;
	bool is_all; // the one for all CPUs
	const char *clock;
	cpu_set_t cpus; // recorded on
	size_t buffer_bytes; // of each of these
};

// Make it, switched off. Returns 0, or -errno with one line in error and NULL in *out; nothing
// stays then.
int instance_make(struct instance **out, const struct instance_config *config, struct error *error);

// The path of its folder in tracefs.
const char *instance_path(const struct instance *instance);

// Ask for an event, of what passes the filter ("": all). Returns 0 or -errno.
int instance_enable(const struct instance *instance, const char *event, const char *filter);

int instance_switch(const struct instance *instance, bool on);

// Remove the instance, whose files must be closed. NULL is a no-op.
void instance_remove(struct instance *instance);
