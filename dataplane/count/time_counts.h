#pragma once

// Latencies counted by the time of sending, as analysis/blocks.py wants them: in steps of a block
// of the trial, or of a second if that is shorter, with the leading TIME_COUNTS_BITS bits of each
// value. How long a block is is known only at the end: until then steps are a power of ten, and ten
// become one whenever the trial has grown long enough.

#include "record_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TIME_COUNTS_BITS = 15,
	TIME_COUNTS_LEAST_BLOCKS = 20, // of a trial; at most two and a half times as many
};

struct time_counts;

// Returns 0 or -ENOMEM.
int time_counts_create(struct time_counts **out);
void time_counts_destroy(struct time_counts *counts);

// Returns 0, -ENOMEM, or -ERANGE for a time at the very end of 64 bits.
int time_counts_add(struct time_counts *counts, int64_t sent_ns, int64_t latency_ns,
	uint8_t direction, bool is_void);

struct time_span {
	int64_t first_ns, last_ns; // of what was added
	bool is_any;
};

struct time_span time_counts_span(const struct time_counts *counts);

// End the counting: the counts in the order of start, direction, void, value; they are freed with
// the rest. Returns how many.
size_t time_counts_end(struct time_counts *counts, const struct time_count_record **records);
