#pragma once

// Taking the victim's core from it: the calling thread, which is pinned there, spins.

#include "cause.h"

struct occupy {
	const struct cause_env *env;
	uint64_t length_ticks;
	uint32_t tid; // 0: not known yet
};

// Spin for length_ticks. One injection is noted for each stretch in which the victim did not run;
// its arg is the age of the victim's last reading of the clock at its start, in nanoseconds (0: the
// victim is not ours). Returns 1.
int occupy_once(struct occupy *occupy);
