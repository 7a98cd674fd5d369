#pragma once

// Matches the frames of two captures in one pass: docs/matching.md is what it computes. Frames are
// fed in the order defined there; each can be taken once when nothing can change it any more, the
// ingress frames in their order, the egress frames in theirs (a little later than they could: what
// is final is looked for a thousand times a window). Memory: keys for two windows, stamps
// for three, and for what is final and not taken.

#include "key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct match;

struct match_config {
	uint32_t key_stride; // key_spec.stride
	uint64_t key_seed; // of the hashes fed in
	int64_t window_ns;
};

// A frame as fed: its position is the number of frames of its side before it.
struct match_frame {
	int64_t ts_ns;
	int64_t clock_ns; // never below the one fed before, on either side
	const uint8_t *key; // NULL: truncated
	uint64_t hash; // ingress: key_hash of key; unused without. Egress frames mostly need none
	uint16_t frame_len;
};

enum match_class {
	MATCH_MATCHED,
	MATCH_LOST, // ingress only
	MATCH_DUPLICATE, // egress only, as the next two
	MATCH_BEYOND_WINDOW,
	MATCH_ORPHAN,
	MATCH_AMBIGUOUS,
	MATCH_TRUNCATED,
	N_MATCH_CLASSES,
};

struct match_ingress {
	uint64_t pos;
	int64_t ts_ns;
	int64_t egress_ts_ns; // MATCH_MATCHED
	uint16_t frame_len;
	enum match_class class;
	bool is_out_of_sequence; // MATCH_MATCHED: RFC 4737
};

struct match_egress {
	uint64_t pos;
	// Of the ingress frame: MATCH_MATCHED, MATCH_DUPLICATE and MATCH_BEYOND_WINDOW; otherwise
	// 0.
	uint64_t ingress_pos;
	int64_t ts_ns;
	int64_t ingress_ts_ns; // MATCH_MATCHED
	uint16_t frame_len;
	enum match_class class;
};

struct match_result {
	bool is_ingress;
	union {
		struct match_ingress ingress;
		struct match_egress egress;
	};
};

struct match_counts {
	uint64_t ingress[N_MATCH_CLASSES], egress[N_MATCH_CLASSES]; // frames by class
	uint64_t duplicate_keys; // runs of ambiguous ingress frames
	uint64_t negative; // matched with a latency below zero
	uint64_t out_of_sequence;
};

// Returns 0 or -ENOMEM.
int match_create(const struct match_config *config, struct match **out);
void match_destroy(struct match *match);

// Feed the next frame of a side. Returns 0 or -ENOMEM: window times rate is more than memory holds.
int match_feed_ingress(struct match *match, const struct match_frame *frame);
int match_feed_egress(struct match *match, const struct match_frame *frame);

// Frames of a side that are still to be fed.
struct match_queue {
	const struct match_frame *next, *end;
};

// Hot path: feed frames of both sides in order until those of one are used up (who comes next is
// not known then), or until results are final: take them first, so that none pile up. Returns 0 or
// -ENOMEM.
int match_feed(struct match *match, struct match_queue *ingress, struct match_queue *egress);

// Call it after the last frame: all results that are left are final.
void match_end(struct match *match);

// Whether results are final and not taken.
bool match_has_final(const struct match *match);

// Hot path: take up to max results that are final; how many there were. In which order, frames of
// the two sides beside each other, depends on what was fed alone where all are taken whenever
// match_has_final.
size_t match_take(struct match *match, struct match_result *results, size_t max);

// Of the results taken.
const struct match_counts *match_counts(const struct match *match);
