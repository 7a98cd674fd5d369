#pragma once

// The one clock of all measurements: the time stamp counter, raw. It becomes nanoseconds only
// afterwards, by a line through points that pair it with CLOCK_MONOTONIC_RAW.

#include "clock_point.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Hot path. RDTSC is not serialising (Intel SDM vol. 2B, RDTSC): the CPU may read it a few
// nanoseconds before earlier loads are done. That is below what is measured here; an LFENCE would
// drain the pipeline in each iteration, which costs more. The compiler does not move it past other
// volatile accesses.
static inline uint64_t clock_tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

enum {
	CLOCK_POINTS = 16, // at the start of a run, and again at its end
	CLOCK_POINTS_SPREAD_NS = 10000000,
};

// Read both clocks several times and keep the narrowest pair. Not during the run: it makes vDSO
// calls, at worst system calls.
void clock_point_take(struct clock_point *out);

// Take n points evenly over spread_ns; sleeps between them.
void clock_points_take(struct clock_point *out, size_t n, uint64_t spread_ns);

// mono_raw_ns = first.mono_raw_ns + (tsc - first.tsc) / tsc_hz, by least squares.
struct clock_fit {
	double tsc_hz;
	double residual_ns; // largest distance of a point from the line
};

// Returns 0, or -EINVAL when there are fewer than two points or they do not advance.
int clock_fit(const struct clock_point *points, size_t n, struct clock_fit *out);

// The same for the line through the first and the last point, by which records/clock.py converts
// records: its rate, and the largest distance of a point from it.
int clock_line(const struct clock_point *points, size_t n, struct clock_fit *out);

// Ticks in ns nanoseconds, and back, rounded to nearest. Not for the hot path: they divide.
uint64_t clock_ticks(uint64_t ns, uint64_t tsc_hz);
uint64_t clock_ns(uint64_t ticks, uint64_t tsc_hz);

struct clock_flags {
	bool constant_tsc, nonstop_tsc;
};

// Says whether the TSC may serve as a clock: every CPU of cpuinfo_path (NULL: /proc/cpuinfo) has
// constant_tsc and nonstop_tsc. If not, why holds one line. flags may be NULL.
bool clock_is_usable(const char *cpuinfo_path, struct clock_flags *flags, struct error *why);
