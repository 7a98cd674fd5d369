#include "match.h"

#include "huge_alloc.h"
#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_CAPACITY = 1 << 12,
	SETTLE_PER_WINDOW = 1024,
	// How many ingress frames ahead the chain of a hash, and the next link of it, are fetched.
	FAR = 32,
	NEAR = 16,
	IN_ORDER = 8, // owners in a row that were as expected, until the next is looked at first
};

int match_create(const struct match_config *config, struct match **out)
{
	struct match *match = calloc(1, sizeof(*match));

	if (match == NULL)
		return -ENOMEM;
	match->window_ns = config->window_ns;
	match->clock_ns = match->settled_ns = INT64_MIN;
	match->settle_every_ns = (uint64_t)config->window_ns / SETTLE_PER_WINDOW;
	match->ingress_first = match->ingress_next = match->expected = 1;
	match->egress_first = match->egress_next = 1;
	match->ingress_end = match->egress_end = 1;
	match->ingress_mask = match->egress_mask = match->waiting_mask = FIRST_CAPACITY - 1;
	match->marks_mask = FIRST_CAPACITY - 1;
	match->ingress = malloc(FIRST_CAPACITY * sizeof(*match->ingress));
	match->egress = malloc(FIRST_CAPACITY * sizeof(*match->egress));
	match->waiting = malloc(FIRST_CAPACITY * sizeof(*match->waiting));
	match->marks = malloc(FIRST_CAPACITY * sizeof(*match->marks));
	if (match->ingress == NULL || match->egress == NULL || match->waiting == NULL ||
		match->marks == NULL ||
		keyed_ring_init(&match->keys, config->key_stride, config->key_seed) < 0 ||
		keyed_ring_init(&match->waiting_keys, config->key_stride, config->key_seed) < 0) {
		match_destroy(match);
		return -ENOMEM;
	}
	*out = match;
	return 0;
}

void match_destroy(struct match *match)
{
	if (match == NULL)
		return;
	keyed_ring_fini(&match->keys);
	keyed_ring_fini(&match->waiting_keys);
	free(match->ingress);
	free(match->egress);
	free(match->waiting);
	free(match->marks);
	free(match);
}

const struct match_counts *match_counts(const struct match *match)
{
	return &match->counts;
}

int match_grow(void **ring, uint64_t *mask, size_t element_size)
{
	size_t size = (*mask + 1) * element_size;
	char *larger = huge_alloc(2 * size);

	if (larger == NULL)
		return -ENOMEM;
	// An element of index & mask may belong to either half: in both it is found.
	memcpy(larger, *ring, size);
	memcpy(larger + size, *ring, size);
	free(*ring);
	*ring = larger;
	*mask = 2 * *mask + 1;
	return 0;
}

static inline int make_ingress_room(struct match *match)
{
	int err = 0;

	if (keyed_ring_full(&match->keys))
		err = keyed_ring_grow(&match->keys);
	if (err == 0 && match->ingress_next - match->ingress_first > match->ingress_mask)
		err = match_grow(
			(void **)&match->ingress, &match->ingress_mask, sizeof(*match->ingress));
	return err;
}

static inline int make_egress_room(struct match *match)
{
	int err = 0;

	if (match->egress_next - match->egress_first > match->egress_mask)
		err = match_grow(
			(void **)&match->egress, &match->egress_mask, sizeof(*match->egress));
	if (err == 0 && keyed_ring_full(&match->waiting_keys))
		err = keyed_ring_grow(&match->waiting_keys);
	if (err == 0 && match->waiting_mask < match->waiting_keys.mask)
		err = match_grow(
			(void **)&match->waiting, &match->waiting_mask, sizeof(*match->waiting));
	return err;
}

// Hot path: many frames at a time are settled faster than each by itself.
static inline bool is_time_to_settle(const struct match *match, int64_t now_ns)
{
	return age(now_ns, match->settled_ns) >= match->settle_every_ns;
}

// Returns 0 or -ENOMEM.
static int settle(struct match *match, int64_t now_ns)
{
	int err = match_add_mark(match);

	if (err < 0)
		return err;
	match->settled_ns = now_ns;
	match_settle(match, now_ns);
	return 0;
}

// The first ingress frame after egress frames that wait for one with this key. Chains run from new
// to old, and an ingress frame settles all it meets, so behind a settled one all are.
static void settle_waiting(struct match *match, uint64_t index, const struct match_frame *frame)
{
	struct keyed_ring *keys = &match->waiting_keys;
	struct ingress_state *owner = ingress_at(match, index);

	for (uint64_t at = keyed_ring_find(keys, frame->hash, frame->key); at != 0;
		at = keyed_ring_older(keys, at, frame->hash, frame->key)) {
		struct waiting *waiting = &match->waiting[at & match->waiting_mask];
		if (waiting->egress == 0)
			return;
		struct egress_state *state = egress_at(match, waiting->egress);
		uint64_t distance = age(frame->clock_ns, waiting->clock_ns);
		if (distance < (uint64_t)match->window_ns) {
			state->owner = (uint32_t)index;
			state->flags = STATE_OWNED;
			// The nearest before the owner comes first in the chain.
			if (!(owner->flags & STATE_MATCHED)) {
				owner->flags |= STATE_MATCHED;
				owner->egress = (uint32_t)waiting->egress;
				owner->egress_ts_ns = state->ts_ns;
			}
		} else if (distance < 2 * (uint64_t)match->window_ns &&
			   (!(state->flags & STATE_BEYOND) || distance < waiting->distance_ns)) {
			state->owner = (uint32_t)index;
			state->flags = STATE_BEYOND;
		}
		waiting->egress = 0;
	}
}

static inline __attribute__((always_inline)) int feed_ingress(
	struct match *match, const struct match_frame *frame)
{
	int err = make_ingress_room(match);
	if (err < 0)
		return err;
	match->clock_ns = frame->clock_ns;
	uint64_t index = match->ingress_next++;
	struct ingress_state *state = ingress_at(match, index);
	*state = (struct ingress_state){
		.ts_ns = frame->ts_ns, .clock_ns = frame->clock_ns, .frame_len = frame->frame_len};
	if (frame->key == NULL) {
		state->flags = STATE_TRUNCATED;
		keyed_ring_skip(&match->keys);
		return 0;
	}
	uint64_t earlier = keyed_ring_find(&match->keys, frame->hash, frame->key);
	if (earlier != 0) {
		struct ingress_state *other = ingress_at(match, earlier);
		other->flags |= STATE_REPEATED;
		if (age(frame->clock_ns, other->clock_ns) < (uint64_t)match->window_ns) {
			match->counts.duplicate_keys += !(other->flags & STATE_AMBIGUOUS);
			other->flags |= STATE_AMBIGUOUS;
			state->flags |= STATE_AMBIGUOUS;
		}
	}
	if (match->waiting_keys.first < match->waiting_keys.next)
		settle_waiting(match, index, frame);
	keyed_ring_add(&match->keys, frame->hash, frame->key);
	return 0;
}

// The newest ingress frame with this key, or 0. Where the files are in the same order it is the
// one behind the owner before, which is found without the table and without a hash. Where they are
// not, to look there first would be a branch that the processor cannot foresee.
static inline uint64_t find_owner(struct match *match, const struct match_frame *frame)
{
	const struct keyed_ring *keys = &match->keys;
	uint64_t expected = match->expected;

	if (match->n_as_expected >= IN_ORDER && expected >= keys->first && expected < keys->next &&
		!(ingress_at(match, expected)->flags & STATE_REPEATED) &&
		keyed_ring_same(keys, expected, frame->key))
		return expected;
	uint64_t found =
		keyed_ring_find(keys, key_hash(frame->key, keys->stride, keys->seed), frame->key);
	match->n_as_expected = found == expected ? match->n_as_expected + 1 : 0;
	return found;
}

static void wait_for_owner(
	struct match *match, uint64_t index, const struct match_frame *frame, uint64_t distance_ns)
{
	struct keyed_ring *keys = &match->waiting_keys;

	match->waiting[keys->next & match->waiting_mask] =
		(struct waiting){index, frame->clock_ns, distance_ns};
	keyed_ring_add(keys, key_hash(frame->key, keys->stride, keys->seed), frame->key);
}

static inline __attribute__((always_inline)) int feed_egress(
	struct match *match, const struct match_frame *frame)
{
	int err = make_egress_room(match);
	if (err < 0)
		return err;
	match->clock_ns = frame->clock_ns;
	uint64_t index = match->egress_next++;
	struct egress_state *state = egress_at(match, index);
	*state = (struct egress_state){.ts_ns = frame->ts_ns, .frame_len = frame->frame_len};
	if (frame->key == NULL) {
		state->flags = STATE_TRUNCATED;
		return 0;
	}
	uint64_t owner_index = find_owner(match, frame);
	if (owner_index == 0) {
		wait_for_owner(match, index, frame, 0);
		return 0;
	}
	struct ingress_state *owner = ingress_at(match, owner_index);
	uint64_t distance = age(frame->clock_ns, owner->clock_ns);
	match->expected = owner_index + 1;
	if (distance >= (uint64_t)match->window_ns) {
		// Beyond two windows it is not forgotten yet, but should be.
		if (distance < 2 * (uint64_t)match->window_ns) {
			state->owner = (uint32_t)owner_index;
			state->flags = STATE_BEYOND;
		}
		wait_for_owner(match, index, frame, distance);
		return 0;
	}
	state->owner = (uint32_t)owner_index;
	state->flags = STATE_OWNED;
	if (!(owner->flags & STATE_MATCH_AFTER)) {
		// The first after the owner; one before it was only the match as long as none came.
		owner->flags |= STATE_MATCHED | STATE_MATCH_AFTER;
		owner->egress = (uint32_t)index;
		owner->egress_ts_ns = frame->ts_ns;
	}
	return 0;
}

int match_feed_ingress(struct match *match, const struct match_frame *frame)
{
	int err = is_time_to_settle(match, frame->clock_ns) ? settle(match, frame->clock_ns) : 0;

	return err < 0 ? err : feed_ingress(match, frame);
}

int match_feed_egress(struct match *match, const struct match_frame *frame)
{
	int err = is_time_to_settle(match, frame->clock_ns) ? settle(match, frame->clock_ns) : 0;

	return err < 0 ? err : feed_egress(match, frame);
}

int match_feed(struct match *match, struct match_queue *ingress, struct match_queue *egress)
{
	const struct match_frame *in = ingress->next;
	const struct match_frame *out = egress->next;
	int err = 0;

	while (err == 0 && in < ingress->end && out < egress->end) {
		bool is_in = in->clock_ns <= out->clock_ns;
		int64_t now_ns = is_in ? in->clock_ns : out->clock_ns;

		if (__builtin_expect(is_time_to_settle(match, now_ns), 0)) {
			err = settle(match, now_ns);
			if (err < 0 || match->has_final)
				break;
		}
		if (is_in) {
			if (ingress->end - in > FAR) {
				keyed_ring_prefetch(&match->keys, in[FAR].hash);
				keyed_ring_prefetch_link(&match->keys, in[NEAR].hash);
			}
			err = feed_ingress(match, in++);
		} else {
			err = feed_egress(match, out++);
		}
	}
	ingress->next = in;
	egress->next = out;
	return err;
}
