#pragma once

// When to act: each act lies at random within +- 25 % of the mean period around its place in a
// grid. The rate is exact, and the acts do not beat with timers, which are periodic. One seed gives
// one sequence.

#include "error.h"
#include "prng.h"

#include <stddef.h>
#include <stdint.h>

// acts / per_ns.
struct act_rate {
	uint64_t acts;
	uint64_t per_ns;
};

struct act_schedule {
	struct act_rate rate;
	struct prng prng;
	uint64_t n; // acts planned so far
	uint64_t width_ns;
};

// Parse "100/s" or "0.5/s", at most 6 digits behind the point. Returns 0, or -EINVAL with one line
// in error.
int act_rate_parse(const char *text, struct act_rate *out, struct error *error);

uint64_t act_rate_period_ns(const struct act_rate *rate);

// Acts in duration_ns, rounded up.
uint64_t act_rate_count(const struct act_rate *rate, uint64_t duration_ns);

void act_schedule_init(struct act_schedule *schedule, const struct act_rate *rate, uint64_t seed);

// When the next act is due, in nanoseconds since the start.
uint64_t act_schedule_next(struct act_schedule *schedule);
