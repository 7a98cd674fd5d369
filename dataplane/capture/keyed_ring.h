#pragma once

// Keys of frames in the order they came, found by content: a ring, and hash chains from newer to
// older as in LZ77 coders. What is older than the tail is not removed from the chains: a chain ends
// at the first entry that is older than the tail, so forgetting costs nothing. Indices count from 1
// and never wrap; chains hold their low 32 bits, which is enough while fewer than 2^31 live, and
// beside it 32 bits of the hash, so that a key is only looked at where it is very likely the same:
// an old key is out of the cache.

#include "key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct keyed_ring {
	uint8_t *keys;
	uint64_t *links; // the next older entry of the chain: hash tag, index
	uint64_t *heads; // the newest entry of each chain, likewise
	uint64_t mask, head_mask; // capacities - 1; four chains an entry
	uint64_t first, next; // live entries: first <= index < next
	uint64_t seed;
	uint32_t stride;
};

// Room for a few entries; it grows. Returns 0 or -ENOMEM.
int keyed_ring_init(struct keyed_ring *ring, uint32_t stride, uint64_t seed);
void keyed_ring_fini(struct keyed_ring *ring);

// Double the room. Returns 0 or -ENOMEM, and then nothing changed.
int keyed_ring_grow(struct keyed_ring *ring);

static inline bool keyed_ring_full(const struct keyed_ring *ring)
{
	return ring->next - ring->first > ring->mask;
}

static inline __attribute__((always_inline)) void keyed_ring_prefetch(
	const struct keyed_ring *ring, uint64_t hash)
{
	__builtin_prefetch(&ring->heads[hash & ring->head_mask], 1);
}

// The full index of a link, or 0 if it is not alive.
static inline uint64_t keyed_ring_live(const struct keyed_ring *ring, uint64_t link)
{
	uint32_t age = (uint32_t)(ring->next - 1) - (uint32_t)link;

	return age < ring->next - ring->first ? ring->next - 1 - age : 0;
}

// 56 bytes is the default key: a constant length compiles to a few loads.
static inline bool keyed_ring_same(
	const struct keyed_ring *ring, uint64_t index, const uint8_t *key)
{
	const uint8_t *own = ring->keys + (index & ring->mask) * ring->stride;

	return ring->stride == 56 ? memcmp(own, key, 56) == 0 : memcmp(own, key, ring->stride) == 0;
}

// Prefetch the chain's next link; call it some frames after keyed_ring_prefetch of the same hash.
// In one chain of six the first entry has another key: then the next link is needed, and is not in
// the cache. Always inlined: GCC takes a function that only prefetches for one without effect, and
// drops its calls.
static inline __attribute__((always_inline)) void keyed_ring_prefetch_link(
	const struct keyed_ring *ring, uint64_t hash)
{
	uint64_t index = keyed_ring_live(ring, ring->heads[hash & ring->head_mask]);

	__builtin_prefetch(&ring->links[index & ring->mask]);
}

// From a link on to older entries: the first live one with this key, or 0.
static inline uint64_t keyed_ring_walk(
	const struct keyed_ring *ring, uint64_t link, uint64_t hash, const uint8_t *key)
{
	uint64_t index = keyed_ring_live(ring, link);

	while (index != 0 && !(link >> 32 == hash >> 32 && keyed_ring_same(ring, index, key))) {
		link = ring->links[index & ring->mask];
		index = keyed_ring_live(ring, link);
	}
	return index;
}

// Hot path: the newest live entry with this key, or 0.
static inline uint64_t keyed_ring_find(
	const struct keyed_ring *ring, uint64_t hash, const uint8_t *key)
{
	return keyed_ring_walk(ring, ring->heads[hash & ring->head_mask], hash, key);
}

// The next older live entry with the key of entry `index`, or 0.
static inline uint64_t keyed_ring_older(
	const struct keyed_ring *ring, uint64_t index, uint64_t hash, const uint8_t *key)
{
	return keyed_ring_walk(ring, ring->links[index & ring->mask], hash, key);
}

// Hot path: add an entry at ring->next. The ring must not be full.
static inline void keyed_ring_add(struct keyed_ring *ring, uint64_t hash, const uint8_t *key)
{
	uint64_t slot = ring->next & ring->mask;
	uint64_t *head = &ring->heads[hash & ring->head_mask];

	if (ring->stride == 56)
		memcpy(ring->keys + slot * 56, key, 56);
	else
		memcpy(ring->keys + slot * ring->stride, key, ring->stride);
	ring->links[slot] = *head;
	*head = hash >> 32 << 32 | (uint32_t)ring->next++;
}

// An entry without a key, so that indices keep step with frames: it is never found.
static inline void keyed_ring_skip(struct keyed_ring *ring)
{
	// No key has this length.
	memset(ring->keys + (ring->next & ring->mask) * ring->stride, 0xff, ring->stride);
	ring->next++;
}
