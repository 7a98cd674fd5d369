#pragma once

#include <stdint.h>

// How far the TSC of core b is ahead of that of core a. The true value lies within
// skew_ticks +- uncertainty_ticks.
struct skew {
	int64_t skew_ticks;
	uint64_t uncertainty_ticks;
};

// Of the smallest differences received - sent of both directions: to_b = flight + skew and
// to_a = flight - skew, each flight >= 0.
struct skew skew_of(int64_t min_to_b, int64_t min_to_a);

// Two pinned threads pass one cache line to and fro n_rounds times; each stamps when it has seen
// the other's turn. A message cannot arrive before it was sent: the smallest differences of both
// directions bracket the skew. Returns 0 or -errno (a core that does not exist: -EINVAL).
int skew_measure(int core_a, int core_b, uint32_t n_rounds, struct skew *out);
