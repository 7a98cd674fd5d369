// Constant rate with each departure moved at random around its place in the grid: the mean rate
// stays exact, and the load does not lock in phase with timer ticks or polling loops.

#include "traffic.h"

struct jittered_options {
	uint64_t percent;
};

static const struct option_spec jittered_specs[] = {
	{
		.name = "percent",
		.type = OPTION_UINT,
		.offset = offsetof(struct jittered_options, percent),
		.default_text = "25",
		.help = "each departure lies within +- this share of the mean gap (%)",
		.min = 1,
		.max = 50, // more would let a packet overtake the one before
	},
};

struct jittered {
	struct exact_gap gap;
	struct prng prng;
	uint64_t width_ns; // departures lie in [grid, grid + width_ns)
	uint64_t offset_ns; // of the departure before
};

static int jittered_init(void *state, const void *options, const struct traffic_rate *rate,
	uint64_t seed, struct error *error)
{
	const struct jittered_options *chosen = options;
	struct jittered *jittered = state;

	exact_gap_init(&jittered->gap, rate->per_ns, rate->packets);
	prng_seed(&jittered->prng, seed);
	jittered->width_ns = jittered->gap.whole_ns * 2 * chosen->percent / 100;
	return 0;
}

// The grid is shifted by half the width so that no offset is negative.
static void jittered_next(void *state, struct departure *out)
{
	struct jittered *jittered = state;
	uint64_t offset_ns = prng_below(&jittered->prng, jittered->width_ns + 1);

	out->gap_ns = exact_gap_next(&jittered->gap) + offset_ns - jittered->offset_ns;
	jittered->offset_ns = offset_ns;
}

const struct traffic_ops traffic_jittered = {
	.name = "jittered",
	.summary = "constant rate, each departure moved at random around its place",
	.options = jittered_specs,
	.n_options = sizeof(jittered_specs) / sizeof(jittered_specs[0]),
	.options_size = sizeof(struct jittered_options),
	.state_size = sizeof(struct jittered),
	.init = jittered_init,
	.next = jittered_next,
};
