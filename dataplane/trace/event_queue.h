#pragma once

// Events that wait for their verdict, oldest first, in memory of bounded size. Taken in pieces of
// 1 MiB and given back as they empty: what is resident is what waits.

#include "record_format.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	EVENT_CHUNK = 1 << 15, // records
	EVENT_CHUNK_BYTES = EVENT_CHUNK * sizeof(struct event_record),
};

struct event_queue;

// At least two chunks. Returns 0, or -ENOMEM and NULL in *out.
int event_queue_create(struct event_queue **out, uint64_t bytes);

// NULL is none.
void event_queue_destroy(struct event_queue *queue);

// False when there is no room.
bool event_queue_push(struct event_queue *queue, const struct event_record *record);

// The oldest, or NULL. It is the queue's until event_queue_pop.
const struct event_record *event_queue_front(const struct event_queue *queue);
void event_queue_pop(struct event_queue *queue);

// Chunks of memory it has taken: those with events, and at most one that is empty.
size_t event_queue_chunks(const struct event_queue *queue);

// With events, at most so far.
size_t event_queue_most_chunks(const struct event_queue *queue);
