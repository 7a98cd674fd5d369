#pragma once

// How often each value occurred, in bounded memory: exactly as long as there are few distinct ones,
// then at the resolution of the generator's histograms (base/histogram.h), in nanoseconds instead
// of ticks. Values near zero have an array, others a hash table.
// base/exact_counts.h is exact whatever comes, and may need a file for it.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Fuzzers make these anew for each input, and are to fill them.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum {
	VALUE_DENSE_LEAST = -(1 << 7),
	VALUE_DENSE_END = (1 << 10) - (1 << 7),
	VALUE_COUNTS_MOST = 1 << 6
};
#else
enum {
	// The array: about -65 us to 459 us, 2 MiB.
	VALUE_DENSE_LEAST = -(1 << 16),
	VALUE_DENSE_END = (1 << 19) - (1 << 16),
	VALUE_COUNTS_MOST = 1 << 19, // distinct values that are kept exactly
};
#endif

struct value_count {
	int64_t value; // the least one of those that were put together
	uint64_t n; // 0: nothing
};

struct value_counts {
	uint32_t *dense; // what is beyond 32 bits is in the table
	struct value_count *slots; // a hash table; sorted once value_counts_end was called
	size_t n_slots, n_used; // n_slots: a power of two
	bool is_coarse;
	int error; // -errno of the first failure; the counts are then incomplete
};

// Returns 0 or -ENOMEM.
int value_counts_init(struct value_counts *counts);
void value_counts_fini(struct value_counts *counts);

// Count what the array has no room for: another value, or 2^32 of one.
void value_counts_add_rare(struct value_counts *counts, int64_t value);

// Hot path: count one value.
static inline void value_counts_add(struct value_counts *counts, int64_t value)
{
	uint64_t at = (uint64_t)value - (uint64_t)VALUE_DENSE_LEAST;

	if (__builtin_expect(at >= VALUE_DENSE_END - VALUE_DENSE_LEAST, 0) ||
		__builtin_expect(++counts->dense[at] == 0, 0))
		value_counts_add_rare(counts, value);
}

// Ends the counting. Returns 0, or -errno if it failed.
int value_counts_end(struct value_counts *counts);

// Give every value with its count, ascending, after the end. give returns 0 to go on; its first
// other result is returned. Where counts->is_coarse each is value_counts_edge of what was counted.
int value_counts_each(const struct value_counts *counts,
	int (*give)(void *context, const struct value_count *count), void *context);

// The bucket a value is in when they are too many: the least value in it, at most 2^-14 below, and
// how many values from there on.
int64_t value_counts_edge(int64_t value);
uint64_t value_counts_width(int64_t edge);
