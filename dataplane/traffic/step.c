// A load that changes once: the whole rate at first, then a share of it to the end. What a device
// makes of the time after an overload can be seen so (RFC 2544 26.5).

#include "traffic.h"

#include <errno.h>

struct step_options {
	uint64_t after_ns, percent;
};

static const struct option_spec step_specs[] = {
	{
		.name = "after",
		.type = OPTION_DURATION,
		.offset = offsetof(struct step_options, after_ns),
		.default_text = "60s",
		.help = "how long the whole rate lasts, the warm-up counted in",
		.min = 1,
		.max = UINT64_C(86400000000000), // a day: as a trial
	},
	{
		.name = "percent",
		.type = OPTION_UINT,
		.offset = offsetof(struct step_options, percent),
		.default_text = "50",
		.help = "the rate from then on (% of the whole)",
		.min = 1,
		.max = 100,
	},
};

struct step {
	struct exact_gap before, after;
	uint64_t due_ns; // of the departure before
	uint64_t after_ns;
};

static int step_init(void *state, const void *options, const struct traffic_rate *rate,
	uint64_t seed, struct error *error)
{
	const struct step_options *chosen = options;
	struct step *step = state;

	exact_gap_init(&step->before, rate->per_ns, rate->packets);
	exact_gap_init(&step->after, (unsigned __int128)rate->per_ns * 100,
		rate->packets * chosen->percent);
	step->after_ns = chosen->after_ns;
	return 0;
}

static int step_fits(const void *state, uint64_t from_ns, uint64_t until_ns, struct error *error)
{
	const struct step *step = state;

	if (from_ns < step->after_ns && step->after_ns < until_ns)
		return 0;
	error_set(error,
		"schedule step: the rate falls after %.9g s, and %.9g to %.9g s are measured; "
		"change after, or measure longer",
		(double)step->after_ns / 1e9, (double)from_ns / 1e9, (double)until_ns / 1e9);
	return -EINVAL;
}

static void step_next(void *state, struct departure *out)
{
	struct step *step = state;

	// The first departure behind the step comes one longer gap after the last one before it.
	if (step->due_ns + step->before.whole_ns < step->after_ns)
		out->gap_ns = exact_gap_next(&step->before);
	else
		out->gap_ns = exact_gap_next(&step->after);
	step->due_ns += out->gap_ns;
}

const struct traffic_ops traffic_step = {
	.name = "step",
	.summary = "constant rate that falls once to a share of it",
	.options = step_specs,
	.n_options = sizeof(step_specs) / sizeof(step_specs[0]),
	.options_size = sizeof(struct step_options),
	.state_size = sizeof(struct step),
	.init = step_init,
	.fits = step_fits,
	.next = step_next,
};
