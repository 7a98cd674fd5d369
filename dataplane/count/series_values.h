#pragma once

// The exact counts of every series: of each direction, and void packets and those of the warm-up
// apart. Threads may count different series at the same time.

#include "record_format.h"
#include "value_counts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

enum { N_DIRECTIONS = 2 };

struct series_values {
	struct value_counts *of[N_SERIES][N_DIRECTIONS][2][2]; // [void][cold]; NULL: none
};

void series_values_fini(struct series_values *values);

// The first value of a series. Returns 0 or -ENOMEM.
int series_values_create(struct value_counts **values);

// Hot path: count end - start of a series. Returns 0, -ENOMEM, or -ERANGE if 64 bits cannot hold
// it.
static inline int series_values_add(struct series_values *values, enum histogram_series series,
	uint8_t direction, bool is_void, bool is_cold, int64_t start_ns, int64_t end_ns)
{
	struct value_counts **of = &values->of[series][direction][is_void][is_cold];
	int64_t span_ns;

	if (__builtin_sub_overflow(end_ns, start_ns, &span_ns))
		return -ERANGE;
	if (*of == NULL) {
		int err = series_values_create(of);
		if (err < 0)
			return err;
	}
	value_counts_add(*of, span_ns);
	return 0;
}

// Ends the counting. Returns 0, or -errno if it failed.
int series_values_end(struct series_values *values);
