#pragma once

// The clock that events are stamped with: the TSC, or the kernel's monotonic clock, whose stamps
// become ticks by the line through two readings of both.

#include "clock.h"

#include <stdbool.h>
#include <stdint.h>

// With mono_raw by the line through the last two readings.
struct trace_clock {
	bool is_tsc;
	struct clock_point before, after;
};

// To ticks, from what the trace's clock says.
uint64_t trace_clock_ticks(const struct trace_clock *clock, uint64_t stamp);

// What it says now.
uint64_t trace_clock_now(const struct trace_clock *clock);

// What it said so long ago that no earlier event is still on its way to the buffer.
uint64_t trace_clock_settled(const struct trace_clock *clock, uint64_t tsc_hz);

// Read both clocks again; not more often than the line stands.
void trace_clock_advance(struct trace_clock *clock);
