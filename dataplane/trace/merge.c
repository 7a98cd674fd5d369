#include "merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct merge_entry {
	struct event_record record;
	void *source;
};

struct merge {
	merge_next next;
	void **idle; // sources that had none when last asked
	size_t n_idle;
	struct merge_entry *heap; // least tsc first
	size_t n_heap, n_sources;
};

int merge_create(struct merge **out, merge_next next, void *const *sources, size_t n)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	*out = merge;
	if (merge == NULL)
		return -ENOMEM;
	*merge = (struct merge){.next = next, .n_idle = n, .n_sources = n};
	merge->idle = calloc(n + 1, sizeof(*merge->idle));
	merge->heap = calloc(n + 1, sizeof(*merge->heap));
	if (merge->idle == NULL || merge->heap == NULL) {
		merge_destroy(merge);
		*out = NULL;
		return -ENOMEM;
	}
	if (n > 0) // memcpy wants real pointers even for nothing
		memcpy(merge->idle, sources, n * sizeof(*sources));
	return 0;
}

void merge_destroy(struct merge *merge)
{
	if (merge == NULL)
		return;
	free(merge->idle);
	free(merge->heap);
	free(merge);
}

static void swap(struct merge_entry *a, struct merge_entry *b)
{
	struct merge_entry other = *a;

	*a = *b;
	*b = other;
}

static bool is_before(const struct merge_entry *a, const struct merge_entry *b)
{
	return a->record.tsc < b->record.tsc;
}

static void sift_up(struct merge *merge, size_t at)
{
	while (at > 0 && is_before(&merge->heap[at], &merge->heap[(at - 1) / 2])) {
		swap(&merge->heap[at], &merge->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static void sift_down(struct merge *merge, size_t at)
{
	for (;;) {
		size_t least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < merge->n_heap;
			child++)
			if (is_before(&merge->heap[child], &merge->heap[least]))
				least = child;
		if (least == at)
			return;
		swap(&merge->heap[at], &merge->heap[least]);
		at = least;
	}
}

void merge_refill(struct merge *merge)
{
	size_t n_idle = 0;

	for (size_t i = 0; i < merge->n_idle; i++) {
		struct merge_entry *entry = &merge->heap[merge->n_heap];
		if (merge->next(merge->idle[i], &entry->record)) {
			entry->source = merge->idle[i];
			sift_up(merge, merge->n_heap++);
		} else {
			merge->idle[n_idle++] = merge->idle[i];
		}
	}
	merge->n_idle = n_idle;
}

bool merge_take(struct merge *merge, uint64_t before, struct event_record *out)
{
	if (merge->n_heap == 0 || merge->heap[0].record.tsc >= before)
		return false;
	*out = merge->heap[0].record;
	if (!merge->next(merge->heap[0].source, &merge->heap[0].record)) {
		merge->idle[merge->n_idle++] = merge->heap[0].source;
		merge->heap[0] = merge->heap[--merge->n_heap];
	}
	sift_down(merge, 0);
	return true;
}
