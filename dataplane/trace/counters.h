#pragma once

// The kernel's own counters, read before and after: they say whether events tell all, and what no
// event tells (time stolen by the hypervisor, firmware).

#include "json_writer.h"
#include "throttling.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Give one JSON object: interrupts, softirqs, steal_jiffies and smi of the cores, and of each
// thread its faults, switches, run delay and the throttling of its control groups: also of those
// that an earlier call with the same `throttling` found it in, though it has ended since.
// `is_before`: it is the first of two readings; neither counts what it does itself. To be freed;
// NULL without memory.
char *counters_text(const cpu_set_t *cores, const uint32_t *threads, size_t n_threads,
	struct throttling *throttling, bool is_before);

// The rows of /proc/interrupts or /proc/softirqs as {"LOC":{"1":77}}: watched cores only. `rows`
// NULL writes {}; `name` is as in json_object.
void counters_print_rows(struct json *json, const char *name, FILE *rows, const cpu_set_t *cores);

// The steal column of /proc/stat as {"1":3}, in jiffies of 10 ms; the rest likewise.
void counters_print_steal(struct json *json, const char *name, FILE *stat, const cpu_set_t *cores);
