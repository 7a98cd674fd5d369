#pragma once

// Keys of frames in the order they came, found by content: a ring, and hash chains from newer to
// older as in LZ77 coders. What is older than the tail is not removed from the chains: a chain ends
// at the first entry that is older than the tail, so forgetting costs nothing. Indices count from 1
// and never wrap; chains hold their low 32 bits, which is enough while fewer than 2^31 live. Each
// entry has 32 bits of its hash beside its link, so that a key is only looked at where it is very
// likely the same: an old key is out of the cache. The heads have none, to be half as large.

#include "key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct keyed_ring {
	uint8_t *keys;
	uint64_t *links; // hash tag of the entry, index of the next older one of its chain
	uint32_t *heads; // the newest entry of each chain
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

// The full index of what these are the low bits of, or 0 if it is not alive.
static inline uint64_t keyed_ring_live(const struct keyed_ring *ring, uint32_t low)
{
	uint32_t age = (uint32_t)(ring->next - 1) - low;

	return age < ring->next - ring->first ? ring->next - 1 - age : 0;
}

// 56 bytes is the default key: a constant length compiles to a few loads.
static inline bool keyed_ring_same(
	const struct keyed_ring *ring, uint64_t index, const uint8_t *key)
{
	const uint8_t *own = ring->keys + (index & ring->mask) * ring->stride;

	return ring->stride == 56 ? memcmp(own, key, 56) == 0 : memcmp(own, key, ring->stride) == 0;
}

// Prefetch the link of a chain's first entry; call it some frames after keyed_ring_prefetch of the
// same hash. One chain of six has one, with another key. Always inlined: GCC takes a function that
// only prefetches for one without effect, and drops its calls.
static inline __attribute__((always_inline)) void keyed_ring_prefetch_link(
	const struct keyed_ring *ring, uint64_t hash)
{
	uint64_t index = keyed_ring_live(ring, ring->heads[hash & ring->head_mask]);

	__builtin_prefetch(&ring->links[index & ring->mask]);
}

// The entry that the link of entry `index` leads to, or 0. What a chain ends in, 0 or an entry of
// 2^32 indices ago, may have the low bits of a live one: not older, or of another chain.
static inline uint64_t keyed_ring_behind(
	const struct keyed_ring *ring, uint64_t index, uint64_t link)
{
	uint64_t older = keyed_ring_live(ring, (uint32_t)link);

	return older < index ? older : 0;
}

// From entry `index` on to older ones: the first one with this key, or 0.
static inline uint64_t keyed_ring_walk(
	const struct keyed_ring *ring, uint64_t index, uint64_t hash, const uint8_t *key)
{
	while (index != 0) {
		uint64_t link = ring->links[index & ring->mask];
		if (link >> 32 == hash >> 32 && keyed_ring_same(ring, index, key))
			break;
		index = keyed_ring_behind(ring, index, link);
	}
	return index;
}

// Hot path: the newest live entry with this key, or 0.
static inline uint64_t keyed_ring_find(
	const struct keyed_ring *ring, uint64_t hash, const uint8_t *key)
{
	uint64_t newest = keyed_ring_live(ring, ring->heads[hash & ring->head_mask]);

	return keyed_ring_walk(ring, newest, hash, key);
}

// The next older live entry with the key of entry `index`, or 0.
static inline uint64_t keyed_ring_older(
	const struct keyed_ring *ring, uint64_t index, uint64_t hash, const uint8_t *key)
{
	uint64_t older = keyed_ring_behind(ring, index, ring->links[index & ring->mask]);

	return keyed_ring_walk(ring, older, hash, key);
}

// Hot path: add an entry at ring->next. The ring must not be full.
static inline void keyed_ring_add(struct keyed_ring *ring, uint64_t hash, const uint8_t *key)
{
	uint64_t slot = ring->next & ring->mask;
	uint32_t *head = &ring->heads[hash & ring->head_mask];

	if (ring->stride == 56)
		memcpy(ring->keys + slot * 56, key, 56);
	else
		memcpy(ring->keys + slot * ring->stride, key, ring->stride);
	ring->links[slot] = hash >> 32 << 32 | *head;
	*head = (uint32_t)ring->next++;
}

// An entry without a key, so that indices keep step with frames: it is never found.
static inline void keyed_ring_skip(struct keyed_ring *ring)
{
	// No key has this length.
	memset(ring->keys + (ring->next & ring->mask) * ring->stride, 0xff, ring->stride);
	ring->next++;
}
