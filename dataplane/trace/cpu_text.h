#pragma once

// Sets of CPUs and lists of threads as tracefs wants them.

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

// Write a mask as tracing_cpumask reads it: "3", "1,00000000". Returns text.
char *cpu_text_mask(const cpu_set_t *cpus, char *text, size_t len);

// Write a filter: "cpu == 1 || (cpu >= 4 && cpu <= 7)". Returns -E2BIG when it does not fit, else
// 0.
int cpu_text_filter(const char *field, const cpu_set_t *cpus, char *text, size_t len);

// Write a filter on a field that is a mask: "cpumask & CPUS{1,4-7}" (since Linux 6.6).
int cpu_text_mask_filter(const char *field, const cpu_set_t *cpus, char *text, size_t len);

// Write a filter of threads in ascending order: "common_pid == 7 || (common_pid >= 9 && common_pid
// <= 12)". Returns -E2BIG when it does not fit, else 0.
int thread_text_filter(
	const char *field, const uint32_t *threads, size_t n, char *text, size_t len);
