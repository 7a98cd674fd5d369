#include "keyed_ring.h"

#include "huge_alloc.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 1 << 12 };

static int allocate(struct keyed_ring *ring, uint64_t capacity)
{
	ring->mask = capacity - 1;
	ring->head_mask = 4 * capacity - 1;
	ring->keys = huge_alloc(capacity * ring->stride);
	ring->links = huge_alloc(capacity * sizeof(*ring->links));
	ring->heads = huge_alloc(4 * capacity * sizeof(*ring->heads));
	if (ring->keys == NULL || ring->links == NULL || ring->heads == NULL) {
		keyed_ring_fini(ring);
		return -ENOMEM;
	}
	memset(ring->links, 0, capacity * sizeof(*ring->links));
	memset(ring->heads, 0, 4 * capacity * sizeof(*ring->heads));
	return 0;
}

int keyed_ring_init(struct keyed_ring *ring, uint32_t stride, uint64_t seed)
{
	*ring = (struct keyed_ring){.stride = stride, .seed = seed, .first = 1, .next = 1};
	return allocate(ring, FIRST_CAPACITY);
}

void keyed_ring_fini(struct keyed_ring *ring)
{
	free(ring->keys);
	free(ring->links);
	free(ring->heads);
	ring->keys = NULL;
	ring->links = NULL;
	ring->heads = NULL;
}

static bool has_key(const struct keyed_ring *ring, const uint8_t *key)
{
	uint32_t len;

	memcpy(&len, key + ring->stride - sizeof(len), sizeof(len));
	return len != UINT32_MAX;
}

int keyed_ring_grow(struct keyed_ring *ring)
{
	struct keyed_ring larger = *ring;
	int err = allocate(&larger, 2 * (ring->mask + 1));

	if (err < 0)
		return err;
	larger.next = ring->first;
	for (uint64_t index = ring->first; index < ring->next; index++) {
		const uint8_t *key = ring->keys + (index & ring->mask) * ring->stride;
		if (has_key(ring, key))
			keyed_ring_add(&larger, key_hash(key, ring->stride, ring->seed), key);
		else
			keyed_ring_skip(&larger);
	}
	keyed_ring_fini(ring);
	*ring = larger;
	return 0;
}
