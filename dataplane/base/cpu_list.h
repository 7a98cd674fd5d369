#pragma once

#include <sched.h>
#include <stddef.h>

// Parse "0-3,7", as the kernel writes and `taskset -c` reads it. Returns 0 or -EINVAL.
int cpu_list_parse(const char *text, cpu_set_t *out);

// Write the set as such a list into text, which has len bytes. Returns text.
char *cpu_list_format(const cpu_set_t *set, char *text, size_t len);

// The cores this thread may run on. Returns 0 or -errno.
int cpu_list_allowed(cpu_set_t *out);

// The cores this thread may move to: its cpuset's, whatever affinity it was started with. A shell
// that `taut host apply` moved off the measured cores hands its own down. Returns 0 or -errno.
int cpu_list_reachable(cpu_set_t *out);
