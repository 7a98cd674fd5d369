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

// A queue of up to bytes, but at least two chunks. Returns 0, or -ENOMEM and NULL in *out.
int event_queue_create(struct event_queue **out, uint64_t bytes);

// NULL is a no-op.
void event_queue_destroy(struct event_queue *queue);

// Append an event. False when there is no room for it.
bool event_queue_push(struct event_queue *queue, const struct event_record *record);

// The oldest, or NULL. It is the queue's until event_queue_pop.
const struct event_record *event_queue_front(const struct event_queue *queue);
void event_queue_pop(struct event_queue *queue);

// Chunks of memory it has taken: those with events, and at most one that is empty.
size_t event_queue_chunks(const struct event_queue *queue);

// The most chunks with events that there were at any time.
size_t event_queue_most_chunks(const struct event_queue *queue);
