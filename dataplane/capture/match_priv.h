#pragma once

// The matcher's state: match.c fills it, match_settle.c finds what is final and gives it away.

#include "keyed_ring.h"
#include "match.h"

enum state_flag {
	STATE_TRUNCATED = 1 << 0,
	STATE_AMBIGUOUS = 1 << 1, // ingress
	STATE_REPEATED = 1 << 2, // ingress: a later frame has its key
	STATE_MATCHED = 1 << 3, // ingress: egress is its match so far
	STATE_MATCH_AFTER = 1 << 4, // ingress: its match comes after it in the order
	STATE_OUT_OF_SEQUENCE = 1 << 5, // ingress
	STATE_OWNED = 1 << 6, // egress: owner is one
	STATE_BEYOND = 1 << 7, // egress: owner is the nearest one, 1 to 2 windows away
};

// Indices count frames from 1; they are also the indices of the ingress keys. States hold their low
// 32 bits, as the chains of keys do. Two states fill a cache line: all are out of the cache when
// they are given.
struct ingress_state {
	int64_t ts_ns, clock_ns;
	int64_t egress_ts_ns;
	uint32_t egress;
	uint16_t frame_len;
	uint16_t flags;
};

struct egress_state {
	int64_t ts_ns;
	uint32_t owner;
	uint16_t frame_len;
	uint16_t flags;
};

// An egress frame with no owner before it.
struct waiting {
	uint64_t egress; // 0 once it has an owner or one beyond after it
	int64_t clock_ns;
	uint64_t distance_ns; // with STATE_BEYOND: to the nearest ingress frame
};

// How far both files were, and the clock then: every frame before that is as old, or older.
struct mark {
	int64_t clock_ns;
	uint64_t ingress_next, egress_next;
};

struct match {
	struct keyed_ring keys; // of ingress frames, two windows
	struct keyed_ring waiting_keys; // of those that wait, two windows
	struct waiting *waiting;
	uint64_t waiting_mask;

	struct ingress_state *ingress; // three windows
	uint64_t ingress_mask, ingress_first, ingress_next;
	struct egress_state *egress; // two windows
	uint64_t egress_mask, egress_first, egress_next;
	struct mark *marks; // three windows
	uint64_t marks_mask, marks_first, marks_settled, marks_next; // settled: two windows old

	int64_t window_ns;
	int64_t clock_ns; // of the frame fed last
	int64_t settled_ns; // clock when final frames were last looked for
	uint64_t settle_every_ns;
	uint64_t expected; // the ingress frame after the last owner: in order it is the next owner
	uint32_t n_as_expected; // owners in a row that were; IN_ORDER and more are one
	uint64_t highest_matched; // of the egress frames given: for reordering
	// What is final and not taken: frames before these.
	uint64_t ingress_end, egress_end;
	bool has_final;
	struct match_counts counts;
};

static inline struct ingress_state *ingress_at(const struct match *match, uint64_t index)
{
	return &match->ingress[index & match->ingress_mask];
}

static inline struct egress_state *egress_at(const struct match *match, uint64_t index)
{
	return &match->egress[index & match->egress_mask];
}

// Hot path: how long before `now` a clock was, without overflow: now is never below it.
static inline uint64_t age(int64_t now_ns, int64_t clock_ns)
{
	return (uint64_t)now_ns - (uint64_t)clock_ns;
}

// Double a ring of elements; index & mask stays the place. Returns 0 or -ENOMEM.
int match_grow(void **ring, uint64_t *mask, size_t element_size);

// Remember where both files are. Frames of one clock share a mark. Returns 0 or -ENOMEM.
int match_add_mark(struct match *match);

// Find what nothing from `now` on can change: keys of it are forgotten, frames can be taken.
void match_settle(struct match *match, int64_t now_ns);
