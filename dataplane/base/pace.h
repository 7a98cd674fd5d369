#pragma once

// Work in small pieces, for a thread that may share its core with one that polls. The polling
// thread never sleeps, so a thread that computes beside it keeps the core until the kernel's next
// tick, 1 to 10 ms. A short slice (sched_setattr) does not change that, because running threads are
// compared only at ticks, too. A thread that sleeps gives the core back at once.

#include "clock.h"

#include <stddef.h>

enum {
	// To wake up, to come into cold caches and the last step add as much again and more: what
	// the other thread sees stays below 0.2 ms.
	PACE_PIECE_NS = 50000,
	PACE_REST_MS = 1,
};

struct pace {
	uint64_t piece_ticks; // 0: work without a rest
	uint64_t end_tsc; // of the piece that runs
	uint64_t n_rests;
	void (*rest)(void *context); // gives up the core for a moment
	void *context;
};

// A piece begins: the thread has just slept.
static inline void pace_begin(struct pace *pace)
{
	pace->end_tsc = clock_tsc() + pace->piece_ticks;
}

// Between two steps of the work, each well below a piece: rest if the piece has lasted long enough.
// NULL never rests.
static inline void pace_step(struct pace *pace)
{
	if (pace == NULL || pace->piece_ticks == 0 || clock_tsc() < pace->end_tsc)
		return;
	pace->n_rests++;
	pace->rest(pace->context);
	pace_begin(pace);
}
