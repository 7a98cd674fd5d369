#pragma once

// Counts of tick values: every value below 2^18 ticks (about 100 us) has a bucket of its own, so
// percentiles there are exact; above, an octave has 2^14 buckets (relative width 6e-5). Memory is
// taken and touched before the run; recording is one comparison and one increment.

#include <stddef.h>
#include <stdint.h>

enum histogram_shape {
	HISTOGRAM_EXACT_BITS = 18, // below 2^18 ticks: one bucket a tick
	HISTOGRAM_SUB_BITS = 14, // buckets an octave above
	HISTOGRAM_MAX_BITS = 41, // values from 2^41 ticks (14 min at 2.6 GHz) share the last bucket
	HISTOGRAM_N_BUCKETS = (1 << HISTOGRAM_EXACT_BITS) +
			      ((HISTOGRAM_MAX_BITS - HISTOGRAM_EXACT_BITS) << HISTOGRAM_SUB_BITS),
};

struct histogram {
	uint64_t counts[HISTOGRAM_N_BUCKETS];
};

// n zeroed and prefaulted histograms in one mapping (5 MiB each). NULL with errno set.
struct histogram *histogram_array_create(size_t n);
void histogram_array_destroy(struct histogram *array, size_t n);

static inline size_t histogram_index(uint64_t value)
{
	if (value < UINT64_C(1) << HISTOGRAM_EXACT_BITS)
		return value;
	if (value >= UINT64_C(1) << HISTOGRAM_MAX_BITS)
		return HISTOGRAM_N_BUCKETS - 1;
	unsigned int octave = 63 - (unsigned int)__builtin_clzll(value);
	// The bits below the leading one, cut to HISTOGRAM_SUB_BITS.
	size_t sub = (value >> (octave - HISTOGRAM_SUB_BITS)) - (1 << HISTOGRAM_SUB_BITS);
	return (1 << HISTOGRAM_EXACT_BITS) +
	       ((size_t)(octave - HISTOGRAM_EXACT_BITS) << HISTOGRAM_SUB_BITS) + sub;
}

// Hot path: count one value. Only one thread may write to a histogram.
static inline void histogram_record(struct histogram *histogram, uint64_t value)
{
	histogram->counts[histogram_index(value)]++;
}

struct histogram_bucket {
	uint64_t value; // lowest value of the bucket
	uint64_t width;
	uint64_t count;
};

// The first non-empty bucket at or after *cursor (start with 0). Returns 0 when there is none.
int histogram_next(const struct histogram *histogram, size_t *cursor, struct histogram_bucket *out);

uint64_t histogram_total(const struct histogram *histogram);

// percentile_disc: lowest value of the first bucket whose cumulative share is >= share (0..1].
// 0 when empty.
uint64_t histogram_percentile(const struct histogram *histogram, double share);
