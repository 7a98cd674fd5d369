#pragma once

// Which cores to measure: those asked for, if each can be had, or the default.

#include "error.h"

#include <sched.h>
#include <stddef.h>

enum { CORES_FOLDER_LEN = 200 };

// asked empty means the isolated cores, and where there are none all of the cpuset but the first.
// folder: NULL, or a copy of /sys/devices/system/cpu. Returns 0, or -EINVAL with one line in error,
// which does not name the option. The calling thread asks for every core for a moment, and moves to
// none: somebody may poll there.
int cores_choose(const cpu_set_t *asked, const char *folder, cpu_set_t *out, struct error *error);
