// Constant bit rate: one packet every mean gap.

#include "traffic.h"

struct constant {
	struct exact_gap gap;
};

static int constant_init(void *state, const void *options, const struct traffic_rate *rate,
	uint64_t seed, struct error *error)
{
	struct constant *constant = state;

	exact_gap_init(&constant->gap, rate->per_ns, rate->packets);
	return 0;
}

static void constant_next(void *state, struct departure *out)
{
	struct constant *constant = state;

	out->gap_ns = exact_gap_next(&constant->gap);
}

const struct traffic_ops traffic_constant = {
	.name = "constant",
	.summary = "one packet every 1/rate",
	.state_size = sizeof(struct constant),
	.init = constant_init,
	.next = constant_next,
};
