#pragma once

// A control group of ours with a quota of CPU time, of either version. It is named after our PID;
// those of dead PIDs are removed when the next is made.

#include "error.h"

#include <stdint.h>
#include <sys/types.h>

enum { CPU_GROUP_PATH_LEN = 512 };

struct cpu_group;

// Returns 0, or -errno with one line in error and NULL in *out. mounts: NULL, or a file as
// /proc/mounts.
int cpu_group_create(struct cpu_group **out, const char *mounts, struct error *error);

// The path of its folder in the control group file system.
const char *cpu_group_path(const struct cpu_group *group);

// Move all threads of the process into the group. Returns 0 or -errno.
int cpu_group_add(const struct cpu_group *group, pid_t pid);

// The same for a process that outlives the group: cpu_group_destroy moves it back, and where we are
// killed before, a keeper does, which is where the process was meanwhile. One whose threads are in
// different groups is refused. proc: NULL, or a folder as /proc. Returns 0, or -errno with one line
// in error.
int cpu_group_borrow(struct cpu_group *group, pid_t pid, const char *proc, struct error *error);

// Let the group run for quota_us in each second. Returns 0 or -errno.
int cpu_group_limit(const struct cpu_group *group, uint64_t quota_us);

// Let it run on every CPU all the time. That is a quota, too, which is never used up: from none to
// the first of a machine the kernel changes its code (static keys), which interrupts every CPU.
int cpu_group_unlimit(const struct cpu_group *group);

// Time for which it was throttled so far. Returns 0 or -errno.
int cpu_group_throttled_ns(const struct cpu_group *group, uint64_t *out);

// Remove the group; only borrowed processes may still be in it. NULL is a no-op. Returns 0, or
// -EBUSY with one line in error: they could not be moved back.
int cpu_group_destroy(struct cpu_group *group, struct error *error);
