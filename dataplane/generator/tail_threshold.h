#pragma once

// A moving threshold that about one latency in a hundred exceeds (or in what was asked for): each
// one above lifts it by 99 steps, each one below lowers it by one. A step is 2^-14 of the
// threshold, which starts at the first latency; smaller where fewer are wanted.
//
// Packets of a stall come together: hundreds in a row lift it, of a long soak so far that it would
// sink for minutes, and shorter stalls stay below meanwhile. So where far longer than usual none
// was above, it hurries: it sinks twice as fast, and twice as fast again, until one is above. It
// would record stalls that come often whole, each time anew: it hurries only while, of all so far,
// no more than twice as many as wanted were above.

#include <stdbool.h>
#include <stdint.h>

enum {
	// Of the wait for one above that is usual. Latencies that do not come together wait longer
	// in 2 % of all cases, which changes next to nothing.
	TAIL_LONG_WAIT = 4,
	TAIL_MOST_TIMES = 2, // as many above as wanted
	TAIL_LEAST_SHIFT = 8, // faster it would sink far below the usual latencies
};

struct tail_threshold {
	uint64_t ticks_q16; // 0: none was seen
	uint64_t lift; // 99
	uint64_t n_below; // since the last one above, or since it last looked whether to hurry
	uint64_t n_before, n_above; // all before those, and how many of them were above
	uint8_t shift; // 14
	uint8_t hurry; // it sinks 2^hurry times as fast
};

// One in a hundred lifts by 0.6 %; so does one in more.
static inline struct tail_threshold tail_threshold_of(uint64_t one_in)
{
	struct tail_threshold tail = {.lift = one_in - 1, .shift = 14};

	for (uint64_t n = one_in; n >= 200; n /= 2)
		tail.shift++;
	return tail;
}

static inline void tail_threshold_look(struct tail_threshold *tail)
{
	tail->n_before += tail->n_below;
	tail->n_below = 0;
	if (tail->shift - tail->hurry > TAIL_LEAST_SHIFT &&
		tail->n_above * (tail->lift + 1) <= TAIL_MOST_TIMES * tail->n_before)
		tail->hurry++;
}

// Hot path: is this latency above? It has to see each.
static inline bool tail_threshold_exceeded(struct tail_threshold *tail, uint64_t ticks)
{
	if (__builtin_expect(tail->ticks_q16 == 0, 0))
		tail->ticks_q16 = ticks << 16;

	if (ticks << 16 > tail->ticks_q16) {
		tail->ticks_q16 += tail->lift * ((tail->ticks_q16 >> tail->shift) + 1);
		tail->n_before += tail->n_below + 1;
		tail->n_above++;
		tail->n_below = 0;
		tail->hurry = 0;
		return true;
	}
	if (__builtin_expect(++tail->n_below > TAIL_LONG_WAIT * tail->lift, 0))
		tail_threshold_look(tail);

	uint64_t step = (tail->ticks_q16 >> (tail->shift - tail->hurry)) + 1;
	tail->ticks_q16 -= step < tail->ticks_q16 ? step : tail->ticks_q16;
	return false;
}
