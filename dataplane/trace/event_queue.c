#include "event_queue.h"

#include <errno.h>
#include <stdlib.h>

struct event_queue {
	struct event_record **chunks; // a ring of n_slots
	size_t n_slots, first, n_chunks;
	size_t at; // of the oldest record in the first chunk
	size_t n_in_last;
	struct event_record *spare;
	size_t most_chunks; // that were taken at once
};

int event_queue_create(struct event_queue **out, uint64_t bytes)
{
	size_t n_slots = (size_t)(bytes / EVENT_CHUNK_BYTES);
	struct event_queue *queue = calloc(1, sizeof(*queue));

	*out = queue;
	if (queue == NULL)
		return -ENOMEM;
	queue->n_slots = n_slots < 2 ? 2 : n_slots;
	queue->chunks = calloc(queue->n_slots, sizeof(struct event_record *));
	if (queue->chunks != NULL)
		return 0;
	event_queue_destroy(queue);
	*out = NULL;
	return -ENOMEM;
}

void event_queue_destroy(struct event_queue *queue)
{
	if (queue == NULL)
		return;
	for (size_t i = 0; i < queue->n_chunks; i++)
		free(queue->chunks[(queue->first + i) % queue->n_slots]);
	free(queue->chunks);
	free(queue->spare);
	free(queue);
}

static bool add_chunk(struct event_queue *queue)
{
	if (queue->n_chunks == queue->n_slots)
		return false;
	struct event_record *chunk = queue->spare;
	queue->spare = NULL;
	if (chunk == NULL)
		chunk = malloc(EVENT_CHUNK_BYTES);
	if (chunk == NULL)
		return false;
	queue->chunks[(queue->first + queue->n_chunks++) % queue->n_slots] = chunk;
	queue->n_in_last = 0;
	if (queue->n_chunks > queue->most_chunks)
		queue->most_chunks = queue->n_chunks;
	return true;
}

bool event_queue_push(struct event_queue *queue, const struct event_record *record)
{
	bool is_full = queue->n_chunks == 0 || queue->n_in_last == EVENT_CHUNK;

	if (is_full && !add_chunk(queue))
		return false;
	size_t last = (queue->first + queue->n_chunks - 1) % queue->n_slots;
	queue->chunks[last][queue->n_in_last++] = *record;
	return true;
}

static size_t n_in_first(const struct event_queue *queue)
{
	return queue->n_chunks == 1 ? queue->n_in_last : EVENT_CHUNK;
}

const struct event_record *event_queue_front(const struct event_queue *queue)
{
	if (queue->n_chunks == 0 || queue->at == n_in_first(queue))
		return NULL;
	return &queue->chunks[queue->first][queue->at];
}

// One empty chunk is kept, the others go back: the next round wants one at once.
static void drop_first(struct event_queue *queue)
{
	free(queue->spare);
	queue->spare = queue->chunks[queue->first];
	queue->chunks[queue->first] = NULL;
	queue->first = (queue->first + 1) % queue->n_slots;
	queue->n_chunks--;
	queue->at = 0;
}

void event_queue_pop(struct event_queue *queue)
{
	if (++queue->at == n_in_first(queue))
		drop_first(queue);
}

size_t event_queue_chunks(const struct event_queue *queue)
{
	return queue->n_chunks + (queue->spare != NULL);
}

size_t event_queue_most_chunks(const struct event_queue *queue)
{
	return queue->most_chunks;
}
