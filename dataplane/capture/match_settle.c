// What is final: found, given away in the order of each file, and forgotten.

#include "match_priv.h"

// The index whose low 32 bits these are, of the frames before next.
static uint64_t whole_index(uint64_t next, uint32_t low)
{
	return next - 1 - ((uint32_t)(next - 1) - low);
}

enum {
	// Frames ahead whose states are fetched: they were last touched a window ago, and too few
	// are given in a row for the processor to see where that goes.
	AHEAD = 32,
};

// An egress frame whose class is final.
static inline struct match_egress final_egress(struct match *match, uint64_t index)
{
	const struct egress_state *state = egress_at(match, index);
	struct match_egress frame = {
		.pos = index - 1, .ts_ns = state->ts_ns, .frame_len = state->frame_len};
	uint64_t owner_index = whole_index(match->ingress_next, state->owner);
	struct ingress_state *owner = ingress_at(match, owner_index);

	__builtin_prefetch(egress_at(match, index + AHEAD));
	__builtin_prefetch(ingress_at(match, owner_index + AHEAD));
	if (state->flags & STATE_OWNED && !(owner->flags & STATE_AMBIGUOUS)) {
		frame.ingress_pos = owner_index - 1;
		frame.class = owner->egress == (uint32_t)index ? MATCH_MATCHED : MATCH_DUPLICATE;
	} else if (state->flags & STATE_OWNED) {
		frame.class = MATCH_AMBIGUOUS;
	} else if (state->flags & STATE_BEYOND) {
		frame.class = MATCH_BEYOND_WINDOW;
		frame.ingress_pos = owner_index - 1;
	} else {
		frame.class = state->flags & STATE_TRUNCATED ? MATCH_TRUNCATED : MATCH_ORPHAN;
	}
	if (frame.class == MATCH_MATCHED) {
		frame.ingress_ts_ns = owner->ts_ns;
		if (owner_index < match->highest_matched) {
			owner->flags |= STATE_OUT_OF_SEQUENCE;
			match->counts.out_of_sequence++;
		} else {
			match->highest_matched = owner_index;
		}
	}
	match->counts.egress[frame.class]++;
	return frame;
}

// An ingress frame whose class and place in the sequence are final.
static inline struct match_ingress final_ingress(struct match *match, uint64_t index)
{
	const struct ingress_state *state = ingress_at(match, index);
	struct match_ingress frame = {
		.pos = index - 1, .ts_ns = state->ts_ns, .frame_len = state->frame_len};

	__builtin_prefetch(ingress_at(match, index + AHEAD));
	if (state->flags & STATE_TRUNCATED) {
		frame.class = MATCH_TRUNCATED;
	} else if (state->flags & STATE_AMBIGUOUS) {
		frame.class = MATCH_AMBIGUOUS;
	} else if (!(state->flags & STATE_MATCHED)) {
		frame.class = MATCH_LOST;
	} else {
		frame.class = MATCH_MATCHED;
		frame.egress_ts_ns = state->egress_ts_ns;
		frame.is_out_of_sequence = (state->flags & STATE_OUT_OF_SEQUENCE) != 0;
		match->counts.negative += frame.egress_ts_ns < frame.ts_ns;
	}
	match->counts.ingress[frame.class]++;
	return frame;
}

bool match_has_final(const struct match *match)
{
	return match->has_final;
}

// Egress frames first: they look at owners
// at most one window older than themselves, which are given a window later than they are.
size_t match_take(struct match *match, struct match_result *results, size_t max)
{
	size_t n = 0;

	for (; n < max && match->egress_first < match->egress_end; match->egress_first++) {
		results[n].is_ingress = false;
		results[n++].egress = final_egress(match, match->egress_first);
	}
	for (; n < max && match->ingress_first < match->ingress_end; match->ingress_first++) {
		results[n].is_ingress = true;
		results[n++].ingress = final_ingress(match, match->ingress_first);
	}
	match->has_final = match->egress_first < match->egress_end ||
			   match->ingress_first < match->ingress_end;
	return n;
}

int match_add_mark(struct match *match)
{
	struct mark mark = {match->clock_ns, match->ingress_next, match->egress_next};
	struct mark *last = &match->marks[(match->marks_next - 1) & match->marks_mask];

	if (match->marks_next > match->marks_settled && last->clock_ns == mark.clock_ns) {
		*last = mark;
		return 0;
	}
	if (match->marks_next - match->marks_first > match->marks_mask) {
		int err = match_grow(
			(void **)&match->marks, &match->marks_mask, sizeof(*match->marks));
		if (err < 0)
			return err;
	}
	match->marks[match->marks_next++ & match->marks_mask] = mark;
	return 0;
}

void match_settle(struct match *match, int64_t now_ns)
{
	uint64_t window = (uint64_t)match->window_ns;
	const struct mark *mark;

	while (match->marks_settled < match->marks_next) {
		mark = &match->marks[match->marks_settled & match->marks_mask];
		if (age(now_ns, mark->clock_ns) < 2 * window)
			break;
		match->keys.first = mark->ingress_next;
		match->egress_end = mark->egress_next;
		match->marks_settled++;
	}
	// A waiting frame that is final waits no more.
	while (match->waiting_keys.first < match->waiting_keys.next &&
		match->waiting[match->waiting_keys.first & match->waiting_mask].egress <
			match->egress_end)
		match->waiting_keys.first++;
	// An egress frame may be given as much later than it is final as a mark is after it.
	while (match->marks_first < match->marks_settled) {
		mark = &match->marks[match->marks_first & match->marks_mask];
		if (age(now_ns, mark->clock_ns) < 3 * window + match->settle_every_ns)
			break;
		match->ingress_end = mark->ingress_next;
		match->marks_first++;
	}
	match->has_final = match->egress_first < match->egress_end ||
			   match->ingress_first < match->ingress_end;
}

void match_end(struct match *match)
{
	match->egress_end = match->egress_next;
	match->ingress_end = match->ingress_next;
	match->has_final = match->egress_first < match->egress_end ||
			   match->ingress_first < match->ingress_end;
}
