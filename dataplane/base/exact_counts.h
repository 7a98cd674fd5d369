#pragma once

// How often each value occurred, exactly, at bounded memory whatever the values: no bucket is ever
// wider than one. Values near zero have an array; others are sorted and merged in batches, and
// what does not fit memory goes to a temporary file in sorted runs, merged at the end.
// count/value_counts.h bounds the file, too, at the price of exactness (ADR 14).

#include <stddef.h>
#include <stdint.h>

// Fuzzers make these anew for each input, and are to fill them.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { EXACT_DENSE_LEAST = -(1 << 8), EXACT_DENSE_END = 1 << 12 };
#else
enum {
	EXACT_DENSE_LEAST = -(1 << 16), // the array: about -65 us to 1 ms of nanoseconds
	EXACT_DENSE_END = 1 << 20,
};
#endif

struct exact_count {
	int64_t value;
	uint64_t n;
};

struct exact_counts {
	uint64_t *dense; // only pages of values that occur are resident
	int64_t *unsorted; // values outside the array
	size_t n_unsorted;
	struct exact_spill *spill; // sorted values outside the array
	int error; // -errno of the first failure; the counts are then incomplete
};

// folder: where a temporary file may be made (and unlinked at once). Returns 0 or -errno.
int exact_counts_init(struct exact_counts *counts, const char *folder);
void exact_counts_fini(struct exact_counts *counts);

// Count a value outside the array.
void exact_counts_add_outlier(struct exact_counts *counts, int64_t value);

// Hot path: count one value.
static inline void exact_counts_add(struct exact_counts *counts, int64_t value)
{
	uint64_t at = (uint64_t)value - (uint64_t)EXACT_DENSE_LEAST;

	if (__builtin_expect(at < EXACT_DENSE_END - EXACT_DENSE_LEAST, 1))
		counts->dense[at]++;
	else
		exact_counts_add_outlier(counts, value);
}

// Give every value with its count, ascending. give returns 0 to go on; its first other result is
// returned. Ends counting. -errno if counting or reading back failed.
int exact_counts_each(struct exact_counts *counts,
	int (*give)(void *context, const struct exact_count *count), void *context);
