#pragma once

// Latencies counted by the time of sending, as analysis/blocks.py wants them: in steps of a block
// of the trial, or of a second if that is shorter, with the leading TIME_COUNTS_BITS bits of each
// value; the greatest of a step has a record of its own, with TIME_COUNTS_MOST_BITS. How long a
// block is is known only at the end: until then steps are a power of ten, and ten become one
// whenever the trial has grown long enough. Memory does not grow with the trial: once a step is a
// second, those that are over are given away.

#include "record_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TIME_COUNTS_BITS = 11,
	TIME_COUNTS_MOST_BITS = 15,
	TIME_COUNTS_LEAST_BLOCKS = 20, // of a trial; at most two and a half times as many
};

// Returns 0 to go on; anything else ends the counting, which returns it.
typedef int time_counts_give(void *context, const struct time_count_record *records, size_t n);

struct time_counts;

// give is called with counts, those of a step in no order; to a step that a packet comes late to
// others are added behind those of later ones. Returns 0 or -ENOMEM.
int time_counts_create(time_counts_give *give, void *context, struct time_counts **out);
void time_counts_destroy(struct time_counts *counts);

// Returns 0, -ENOMEM, -ERANGE for a time at the very end of 64 bits or a latency of a hundred days,
// or what give returned.
int time_counts_add(struct time_counts *counts, int64_t sent_ns, int64_t latency_ns,
	uint8_t direction, bool is_void);

struct time_span {
	int64_t first_ns, last_ns; // of what was added
	bool is_any;
};

struct time_span time_counts_span(const struct time_counts *counts);

// Give what was not given. Returns 0 or what give returned.
int time_counts_end(struct time_counts *counts);
