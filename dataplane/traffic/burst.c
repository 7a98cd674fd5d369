// Trains: size frames back to back (or gap apart), then a pause that keeps the mean rate.

#include "traffic.h"

#include <errno.h>
#include <inttypes.h>

enum { LEAST_TRAINS = 3 };

struct burst_options {
	uint64_t size, gap_ns;
};

static const struct option_spec burst_specs[] = {
	{
		.name = "size",
		.type = OPTION_UINT,
		.offset = offsetof(struct burst_options, size),
		.default_text = "32",
		.help = "frames in a train",
		.min = 2,
		.max = 65536,
	},
	{
		.name = "gap",
		.type = OPTION_DURATION,
		.offset = offsetof(struct burst_options, gap_ns),
		.default_text = "0ns",
		.help = "between the frames of a train (0ns: back to back)",
	},
};

struct burst {
	struct exact_gap train; // from train to train
	uint64_t size, at;
	uint64_t gap_ns, length_ns; // within a train
};

static int burst_init(void *state, const void *options, const struct traffic_rate *rate,
	uint64_t seed, struct error *error)
{
	const struct burst_options *chosen = options;
	struct burst *burst = state;

	exact_gap_init(
		&burst->train, (unsigned __int128)rate->per_ns * chosen->size, rate->packets);
	burst->size = chosen->size;
	burst->at = chosen->size - 1; // the first frame begins a train
	burst->gap_ns = chosen->gap_ns;
	if (!__builtin_mul_overflow(chosen->size - 1, chosen->gap_ns, &burst->length_ns) &&
		burst->length_ns < burst->train.whole_ns)
		return 0;
	error_set(error,
		"schedule burst: a train of %" PRIu64 " frames every %" PRIu64
		" ns leaves no pause; lower gap or rate",
		burst->size, burst->train.whole_ns);
	return -EINVAL;
}

static uint64_t burst_at_once(const void *state)
{
	const struct burst *burst = state;

	return burst->size;
}

// A train less or more in what is measured is another rate.
static int burst_fits(const void *state, uint64_t from_ns, uint64_t until_ns, struct error *error)
{
	const struct burst *burst = state;

	if ((until_ns - from_ns) / burst->train.whole_ns >= LEAST_TRAINS)
		return 0;
	error_set(error,
		"schedule burst: a train of %" PRIu64 " frames every %.9g s, and %.9g s are "
		"measured, less than %d trains; lower size, raise the rate, or measure longer",
		burst->size, (double)burst->train.whole_ns / 1e9,
		(double)(until_ns - from_ns) / 1e9, LEAST_TRAINS);
	return -EINVAL;
}

static void burst_next(void *state, struct departure *out)
{
	struct burst *burst = state;

	if (++burst->at < burst->size) {
		out->gap_ns = burst->gap_ns;
		return;
	}
	burst->at = 0;
	out->gap_ns = exact_gap_next(&burst->train) - burst->length_ns;
}

const struct traffic_ops traffic_burst = {
	.name = "burst",
	.summary = "trains of frames back to back, mean rate kept",
	.options = burst_specs,
	.n_options = sizeof(burst_specs) / sizeof(burst_specs[0]),
	.options_size = sizeof(struct burst_options),
	.state_size = sizeof(struct burst),
	.init = burst_init,
	.at_once = burst_at_once,
	.fits = burst_fits,
	.next = burst_next,
};
