#pragma once

// Merges several sources, each in order of time, into one; a heap of their next records.

#include "record_format.h"

#include <stdbool.h>
#include <stddef.h>

struct merge;

// Gives the source's next record; false: it has none now.
typedef bool (*merge_next)(void *source, struct event_record *out);

// sources are the caller's; the array is copied. Returns 0, or -ENOMEM and NULL in *out.
int merge_create(struct merge **out, merge_next next, void *const *sources, size_t n);

// NULL is a no-op.
void merge_destroy(struct merge *merge);

// Ask the sources that had none again: once before each round of merge_take.
void merge_refill(struct merge *merge);

// The earliest record before `before`; false when there is none. A source that runs out is not
// asked again before merge_refill, so that one which is filled all the time cannot hold the round.
bool merge_take(struct merge *merge, uint64_t before, struct event_record *out);
