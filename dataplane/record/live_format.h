#pragma once

// What taut-generate --publish shows while it measures: a file in memory, which others map to read
// (python/taut/records/live.py). Behind this header lie the generator's own counters and
// histograms, where it counts in them anyway: a reader costs the measuring thread nothing. Numbers
// are of 64 bits and aligned, so each is whole; those beside it may be newer by the packets of that
// moment.

#include "clock_point.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define LIVE_MAGIC "TAUTLIV"

enum live_version {
	LIVE_VERSION = 1,
};

struct live_header {
	char magic[8]; // LIVE_MAGIC
	uint32_t version;
	uint32_t n_directions;
	uint32_t run_id;
	uint32_t n_counters;
	uint64_t tsc_hz; // measured before the run
	struct clock_point first; // ties the epoch to the time of day
	_Atomic uint64_t epoch_tsc; // 0: nothing was sent yet
	_Atomic uint64_t end_tsc; // 0: it still runs; else all is counted
	uint64_t warm_up_ns;
	uint64_t duration_ns; // after the warm-up; UINT64_MAX: until a count
	uint64_t counters_at[2]; // by direction: n_counters numbers
	uint64_t histograms_at[2][2]; // by direction, then void: n_series times n_buckets numbers
	uint64_t gaps_at; // how many, not logged, their ticks together, those of the longest
	uint64_t names_at; // of counters, a line each; ends with a 0
	uint32_t n_series; // enum histogram_series, from 0 on
	uint32_t n_buckets;
	uint32_t exact_bits, sub_bits; // enum histogram_shape
};

static_assert(sizeof(struct live_header) == 168, "read by records/layout.py");
