#pragma once

#include <stdint.h>

// One reading of two clocks: CLOCK_MONOTONIC_RAW read between two TSC reads; tsc is their middle.
// Part of the record file's header (record_format.h): its layout is fixed.
struct clock_point {
	uint64_t tsc;
	uint64_t mono_raw_ns;
	uint64_t width_ticks; // distance of the two TSC reads: the error bar of this point
};
