#pragma once

// How long control groups made threads wait for their quota. Whoever has once been seen in a group
// is counted in it to the end: a process that died has none any more, and one that was lent to a
// group has left it, but the group's counter tells of the time in which they were there.

#include "json_writer.h"

#include <stdbool.h>
#include <stdint.h>

struct throttling;

// `root` is put before every path of /sys, "" as a rule; it is not copied. NULL without memory.
struct throttling *throttling_create(const char *root);

// Note the groups that `thread` is in now and that have a counter, by the "cgroup" file in
// `folder`. Nothing is noted where there is no such file: the thread has ended.
void throttling_see(struct throttling *throttling, uint32_t thread, const char *folder);

// Whether any group was noted for the thread.
bool throttling_knows(const struct throttling *throttling, uint32_t thread);

// The member "cgroups": {"/a/b":{"nr_throttled":1,"throttled_us":8000},"/a":null} of the groups
// noted for the thread, as they are now; null: the group is gone.
void throttling_print(const struct throttling *throttling, struct json *json, uint32_t thread);

// NULL is a no-op.
void throttling_destroy(struct throttling *throttling);
