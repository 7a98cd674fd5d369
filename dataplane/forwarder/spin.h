#pragma once

// How long a worker looks for packets before it sleeps. To look for s costs, of a gap between two
// arrivals, the gap where it is shorter than s, else s and a sleep (going there, being woken). What
// costs least depends on the gaps alone: of equal ones of 10 us, to look for all of each; of 100
// us, to sleep at once; a spin that ends shortly before the packet comes is the worst of both. So
// the last gaps are counted by their size, and the size chosen that would have cost least.

#include <stdint.h>

enum {
	SPIN_SIZES = 40, // powers of two, ticks
	SPIN_WINDOW = 256, // gaps after which it is chosen again
};

struct spin {
	uint64_t ticks; // chosen; 0: sleep at once
	uint64_t sleep_ticks; // what a sleep costs
	uint32_t n; // gaps since it was chosen
	uint32_t
		counts[SPIN_SIZES]; // [i]: gaps below 2^i, not below 2^(i-1); older ones weigh less
};

// Before any gap: as long as a sleep costs, which is at most twice the least whatever comes.
void spin_init(struct spin *spin, uint64_t sleep_ticks);

// Hot path: there was a gap of so many ticks between two arrivals.
void spin_note(struct spin *spin, uint64_t gap_ticks);
