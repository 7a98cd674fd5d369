#include "match.h"

#include "keyed_ring.h"

#include <errno.h>
#include <stdlib.h>

enum state_flag {
	STATE_TRUNCATED = 1 << 0,
	STATE_AMBIGUOUS = 1 << 1, // ingress
	STATE_MATCH_AFTER = 1 << 2, // ingress: its match comes after it in the order
	STATE_OUT_OF_SEQUENCE = 1 << 3, // ingress
	STATE_BEYOND = 1 << 4, // egress: an ingress frame with its key is 1 to 2 windows away
};

// Indices count frames from 1; 0 is none. They are also the indices of the ingress keys.
struct ingress_state {
	int64_t ts_ns, clock_ns;
	int64_t egress_ts_ns;
	uint64_t egress; // index of its match so far
	uint32_t wire_len;
	uint32_t flags;
};

struct egress_state {
	int64_t ts_ns, clock_ns;
	uint64_t owner; // index of the ingress frame, or with STATE_BEYOND of the nearest one
	uint64_t distance_ns; // with STATE_BEYOND: to that one
	uint32_t wire_len;
	uint32_t flags;
};

struct match {
	struct keyed_ring keys; // of ingress frames, two windows
	struct keyed_ring waiting; // of egress frames with no owner before them, two windows
	uint64_t
		*waiting_egress; // which frame waits: 0 once it has an owner or one beyond after it
	uint64_t waiting_mask;

	struct ingress_state *ingress; // three windows
	uint64_t ingress_mask, ingress_first, ingress_next;
	struct egress_state *egress; // two windows
	uint64_t egress_mask, egress_first, egress_next;

	int64_t window_ns;
	int64_t settled_ns; // clock when final frames were last looked for
	uint64_t settle_every_ns;
	uint64_t highest_matched; // of the egress frames given: for reordering
	struct match_sink sink;
	struct match_counts counts;
};

enum { FIRST_CAPACITY = 1 << 12, SETTLE_PER_WINDOW = 1024 };

int match_create(
	const struct match_config *config, const struct match_sink *sink, struct match **out)
{
	struct match *match = calloc(1, sizeof(*match));

	if (match == NULL)
		return -ENOMEM;
	match->window_ns = config->window_ns;
	match->settled_ns = INT64_MIN;
	match->settle_every_ns = (uint64_t)config->window_ns / SETTLE_PER_WINDOW;
	match->sink = *sink;
	match->ingress_first = match->ingress_next = 1;
	match->egress_first = match->egress_next = 1;
	match->ingress_mask = match->egress_mask = match->waiting_mask = FIRST_CAPACITY - 1;
	match->ingress = malloc(FIRST_CAPACITY * sizeof(*match->ingress));
	match->egress = malloc(FIRST_CAPACITY * sizeof(*match->egress));
	match->waiting_egress = malloc(FIRST_CAPACITY * sizeof(*match->waiting_egress));
	if (match->ingress == NULL || match->egress == NULL || match->waiting_egress == NULL ||
		keyed_ring_init(&match->keys, config->key_stride, config->key_seed) < 0 ||
		keyed_ring_init(&match->waiting, config->key_stride, config->key_seed) < 0) {
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
	keyed_ring_fini(&match->waiting);
	free(match->ingress);
	free(match->egress);
	free(match->waiting_egress);
	free(match);
}

void match_prefetch(const struct match *match, uint64_t far_hash, uint64_t near_hash)
{
	keyed_ring_prefetch(&match->keys, far_hash);
	keyed_ring_prefetch_link(&match->keys, near_hash);
}

const struct match_counts *match_counts(const struct match *match)
{
	return &match->counts;
}

static struct ingress_state *ingress_at(const struct match *match, uint64_t index)
{
	return &match->ingress[index & match->ingress_mask];
}

static struct egress_state *egress_at(const struct match *match, uint64_t index)
{
	return &match->egress[index & match->egress_mask];
}

// Double a ring of elements; index & mask stays the place. Returns 0 or -ENOMEM.
static int grow(void **ring, uint64_t *mask, size_t element_size)
{
	uint64_t capacity = *mask + 1;
	char *larger = realloc(*ring, 2 * capacity * element_size);

	if (larger == NULL)
		return -ENOMEM;
	// An element at index & (capacity - 1) may belong to either half: in both it is found.
	__builtin_memcpy(larger + capacity * element_size, larger, capacity * element_size);
	*ring = larger;
	*mask = 2 * capacity - 1;
	return 0;
}

static int make_ingress_room(struct match *match)
{
	int err = 0;

	if (keyed_ring_full(&match->keys))
		err = keyed_ring_grow(&match->keys);
	if (err == 0 && match->ingress_next - match->ingress_first > match->ingress_mask)
		err = grow((void **)&match->ingress, &match->ingress_mask, sizeof(*match->ingress));
	return err;
}

static int make_egress_room(struct match *match)
{
	int err = 0;

	if (match->egress_next - match->egress_first > match->egress_mask)
		err = grow((void **)&match->egress, &match->egress_mask, sizeof(*match->egress));
	if (err == 0 && keyed_ring_full(&match->waiting))
		err = keyed_ring_grow(&match->waiting);
	if (err == 0 && match->waiting_mask < match->waiting.mask)
		err = grow((void **)&match->waiting_egress, &match->waiting_mask,
			sizeof(*match->waiting_egress));
	return err;
}

// Give the oldest egress frame: its class is final.
static void give_egress(struct match *match)
{
	uint64_t index = match->egress_first++;
	const struct egress_state *state = egress_at(match, index);
	struct match_egress frame = {
		.pos = index - 1, .ts_ns = state->ts_ns, .wire_len = state->wire_len};
	struct ingress_state *owner = NULL;

	if (state->flags & STATE_TRUNCATED) {
		frame.class = MATCH_TRUNCATED;
	} else if (state->owner == 0) {
		frame.class = MATCH_ORPHAN;
	} else if (state->flags & STATE_BEYOND) {
		frame.class = MATCH_BEYOND_WINDOW;
		frame.ingress_pos = state->owner - 1;
	} else {
		owner = ingress_at(match, state->owner);
		if (owner->flags & STATE_AMBIGUOUS) {
			frame.class = MATCH_AMBIGUOUS;
		} else {
			frame.ingress_pos = state->owner - 1;
			frame.class = owner->egress == index ? MATCH_MATCHED : MATCH_DUPLICATE;
		}
	}
	if (frame.class == MATCH_MATCHED) {
		frame.ingress_ts_ns = owner->ts_ns;
		if (state->owner < match->highest_matched) {
			owner->flags |= STATE_OUT_OF_SEQUENCE;
			match->counts.out_of_sequence++;
		} else {
			match->highest_matched = state->owner;
		}
	}
	match->counts.egress[frame.class]++;
	match->sink.egress(match->sink.context, &frame);
}

// Give the oldest ingress frame: its class and its place in the sequence are final.
static void give_ingress(struct match *match)
{
	uint64_t index = match->ingress_first++;
	const struct ingress_state *state = ingress_at(match, index);
	struct match_ingress frame = {
		.pos = index - 1, .ts_ns = state->ts_ns, .wire_len = state->wire_len};

	if (state->flags & STATE_TRUNCATED) {
		frame.class = MATCH_TRUNCATED;
	} else if (state->flags & STATE_AMBIGUOUS) {
		frame.class = MATCH_AMBIGUOUS;
	} else if (state->egress == 0) {
		frame.class = MATCH_LOST;
	} else {
		frame.class = MATCH_MATCHED;
		frame.egress_ts_ns = state->egress_ts_ns;
		frame.is_out_of_sequence = (state->flags & STATE_OUT_OF_SEQUENCE) != 0;
		match->counts.negative += frame.egress_ts_ns < frame.ts_ns;
	}
	match->counts.ingress[frame.class]++;
	match->sink.ingress(match->sink.context, &frame);
}

// Hot path: how long before `now` a clock was, without overflow: now is never below it.
static inline uint64_t age(int64_t now_ns, int64_t clock_ns)
{
	return (uint64_t)now_ns - (uint64_t)clock_ns;
}

// Forget and give what nothing from `now` on can change. Egress frames first: they look at owners
// at most one window older than themselves, which are given a window later than they are.
static void settle(struct match *match, int64_t now_ns)
{
	uint64_t window = (uint64_t)match->window_ns;

	while (match->keys.first < match->keys.next &&
		age(now_ns, ingress_at(match, match->keys.first)->clock_ns) >= 2 * window)
		match->keys.first++;
	while (match->egress_first < match->egress_next &&
		age(now_ns, egress_at(match, match->egress_first)->clock_ns) >= 2 * window)
		give_egress(match);
	// A waiting frame that has been given waits no more.
	while (match->waiting.first < match->waiting.next) {
		uint64_t egress = match->waiting_egress[match->waiting.first & match->waiting_mask];
		if (egress >= match->egress_first)
			break;
		match->waiting.first++;
	}
	while (match->ingress_first < match->ingress_next &&
		age(now_ns, ingress_at(match, match->ingress_first)->clock_ns) >= 3 * window)
		give_ingress(match);
}

// Hot path: many frames at a time are settled faster than each by itself.
static inline void advance(struct match *match, int64_t now_ns)
{
	if (age(now_ns, match->settled_ns) < match->settle_every_ns)
		return;
	match->settled_ns = now_ns;
	settle(match, now_ns);
}

// The first ingress frame after egress frames that wait for one with this key. Chains run from new
// to old, and an ingress frame settles all it meets, so behind a settled one all are.
static void settle_waiting(struct match *match, uint64_t index, const struct match_frame *frame)
{
	struct keyed_ring *waiting = &match->waiting;
	struct ingress_state *owner = ingress_at(match, index);

	for (uint64_t at = keyed_ring_find(waiting, frame->hash, frame->key); at != 0;
		at = keyed_ring_older(waiting, at, frame->hash, frame->key)) {
		uint64_t *egress = &match->waiting_egress[at & match->waiting_mask];
		if (*egress == 0)
			return;
		struct egress_state *state = egress_at(match, *egress);
		uint64_t distance = age(frame->clock_ns, state->clock_ns);
		if (distance < (uint64_t)match->window_ns) {
			state->owner = index;
			state->flags &= ~(uint32_t)STATE_BEYOND;
			// The nearest before the owner comes first in the chain.
			if (owner->egress == 0) {
				owner->egress = *egress;
				owner->egress_ts_ns = state->ts_ns;
			}
		} else if (distance < 2 * (uint64_t)match->window_ns &&
			   (!(state->flags & STATE_BEYOND) || distance < state->distance_ns)) {
			state->owner = index;
			state->distance_ns = distance;
			state->flags |= STATE_BEYOND;
		}
		*egress = 0;
	}
}

int match_feed_ingress(struct match *match, const struct match_frame *frame)
{
	advance(match, frame->clock_ns);
	int err = make_ingress_room(match);
	if (err < 0)
		return err;
	uint64_t index = match->ingress_next++;
	struct ingress_state *state = ingress_at(match, index);
	*state = (struct ingress_state){
		.ts_ns = frame->ts_ns, .clock_ns = frame->clock_ns, .wire_len = frame->wire_len};
	if (frame->key == NULL) {
		state->flags = STATE_TRUNCATED;
		keyed_ring_skip(&match->keys);
		return 0;
	}
	uint64_t earlier = keyed_ring_find(&match->keys, frame->hash, frame->key);
	if (earlier != 0) {
		struct ingress_state *other = ingress_at(match, earlier);
		if (age(frame->clock_ns, other->clock_ns) < (uint64_t)match->window_ns) {
			match->counts.duplicate_keys += !(other->flags & STATE_AMBIGUOUS);
			other->flags |= STATE_AMBIGUOUS;
			state->flags |= STATE_AMBIGUOUS;
		}
	}
	if (match->waiting.first < match->waiting.next)
		settle_waiting(match, index, frame);
	keyed_ring_add(&match->keys, frame->hash, frame->key);
	return 0;
}

static void wait_for_owner(struct match *match, uint64_t index, const struct match_frame *frame)
{
	match->waiting_egress[match->waiting.next & match->waiting_mask] = index;
	keyed_ring_add(&match->waiting, frame->hash, frame->key);
}

int match_feed_egress(struct match *match, const struct match_frame *frame)
{
	advance(match, frame->clock_ns);
	int err = make_egress_room(match);
	if (err < 0)
		return err;
	uint64_t index = match->egress_next++;
	struct egress_state *state = egress_at(match, index);
	*state = (struct egress_state){
		.ts_ns = frame->ts_ns, .clock_ns = frame->clock_ns, .wire_len = frame->wire_len};
	if (frame->key == NULL) {
		state->flags = STATE_TRUNCATED;
		return 0;
	}
	state->owner = keyed_ring_find(&match->keys, frame->hash, frame->key);
	if (state->owner == 0) {
		wait_for_owner(match, index, frame);
		return 0;
	}
	struct ingress_state *owner = ingress_at(match, state->owner);
	uint64_t distance = age(frame->clock_ns, owner->clock_ns);
	if (distance >= 2 * (uint64_t)match->window_ns) {
		state->owner = 0; // not forgotten yet, but it should be
		wait_for_owner(match, index, frame);
	} else if (distance >= (uint64_t)match->window_ns) {
		state->flags |= STATE_BEYOND;
		state->distance_ns = distance;
		wait_for_owner(match, index, frame);
	} else if (!(owner->flags & STATE_MATCH_AFTER)) {
		// The first after the owner; one before it was only the match as long as none came.
		owner->flags |= STATE_MATCH_AFTER;
		owner->egress = index;
		owner->egress_ts_ns = frame->ts_ns;
	}
	return 0;
}

void match_end(struct match *match)
{
	while (match->egress_first < match->egress_next)
		give_egress(match);
	while (match->ingress_first < match->ingress_next)
		give_ingress(match);
}
