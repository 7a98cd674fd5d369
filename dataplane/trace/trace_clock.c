#include "trace_clock.h"

#include <time.h>

enum {
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
	// An event may be noted this long after its stamp was taken: the hypervisor can stop a CPU
	// between the two. What is late all the same is counted.
	SETTLE_NS = 20 * NS_PER_MS,
	MIN_SPAN_NS = 10 * NS_PER_MS, // between two readings of the clock
};

uint64_t trace_clock_ticks(const struct trace_clock *clock, uint64_t stamp)
{
	if (clock->is_tsc)
		return stamp;
	__int128 ticks = (__int128)(clock->after.tsc - clock->before.tsc);
	__int128 span_ns = (__int128)(clock->after.mono_raw_ns - clock->before.mono_raw_ns);
	__int128 since_ns = (__int128)stamp - (__int128)clock->before.mono_raw_ns;
	return clock->before.tsc + (uint64_t)(int64_t)(since_ns * ticks / span_ns);
}

uint64_t trace_clock_now(const struct trace_clock *clock)
{
	struct timespec now;

	if (clock->is_tsc)
		return clock_tsc();
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t trace_clock_settled(const struct trace_clock *clock, uint64_t tsc_hz)
{
	uint64_t settle = clock->is_tsc ? clock_ticks(SETTLE_NS, tsc_hz) : SETTLE_NS;

	return trace_clock_now(clock) - settle;
}

void trace_clock_advance(struct trace_clock *clock)
{
	struct clock_point now;

	if (clock->is_tsc)
		return;
	clock_point_take(&now);
	// Too near a point is all error and no slope.
	if (now.mono_raw_ns - clock->after.mono_raw_ns < MIN_SPAN_NS)
		return;
	clock->before = clock->after;
	clock->after = now;
}
