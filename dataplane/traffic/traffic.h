#pragma once

// When packets leave, of which flow and size. A schedule is one file beside this one;
// traffic_table.c names them all. A schedule never sees the clock or what became of a packet:
// the load is open loop, and one seed gives one sequence of departures.
//
// Gaps are whole nanoseconds and carry their fraction: the sum of n gaps is n times the mean gap,
// rounded down once, never n times. A rate is a fraction of integers for the same reason: 13
// Mpkt/s is 13,000,000 packets in 1,000,000,000 ns, and after an hour not one packet is missing.

#include "error.h"
#include "option_spec.h"
#include "prng.h"

#include <stddef.h>
#include <stdint.h>

// packets / per_ns, in lowest terms.
struct traffic_rate {
	uint64_t packets;
	uint64_t per_ns;
};

struct departure {
	uint64_t gap_ns; // from the departure before; of the first one: from the run's start
	uint32_t flow;
	uint16_t frame_len; // with FCS
};

struct traffic_ops {
	const char *name, *summary;
	const struct option_spec *options;
	size_t n_options, options_size, state_size;
	// Returns 0 or -EINVAL with one line in error.
	int (*init)(void *state, const void *options, const struct traffic_rate *rate,
		uint64_t seed, struct error *error);
	// How many departures may be due at one time, or nearly; NULL: one.
	uint64_t (*at_once)(const void *state);
	// Whether it does what it is named for between two times of a run. Returns 0 or -EINVAL
	// with one line in error; NULL: at all times.
	int (*fits)(const void *state, uint64_t from_ns, uint64_t until_ns, struct error *error);
	// Hot path. Sets gap_ns; flow and frame_len come preset and may be replaced.
	void (*next)(void *state, struct departure *out);
};

enum { TRAFFIC_MAX_SIZES = 16 };

// Frame sizes in a fixed proportion: each pass over the pattern is drawn in a fresh random order,
// so that the proportion is exact and no flow keeps meeting one size.
struct frame_mix {
	uint16_t pattern[TRAFFIC_MAX_SIZES];
	uint32_t n, at;
	struct prng prng;
};

// text: a size ("64") or "imix": 7:4:1 of 64:570:1518 ("simple IMIX", RFC 6985 appendix).
// Returns 0 or -EINVAL with one line in error.
int frame_mix_parse(struct frame_mix *mix, const char *text, struct error *error);
uint32_t frame_mix_sum(const struct frame_mix *mix); // of the lengths of one pass
void frame_mix_seed(struct frame_mix *mix, uint64_t seed);
uint16_t frame_mix_next(struct frame_mix *mix);

enum rate_layer {
	RATE_LAYER_L2, // the frame with its FCS
	RATE_LAYER_L1, // and preamble, start delimiter and inter-frame gap: 20 bytes more
};

// "100kpps", "1.5Mpps", "50Mbps", "10Gbps": bit rates count frames of mix at layer. Returns 0 or
// -EINVAL with one line in error.
int traffic_rate_parse(const char *text, const struct frame_mix *mix, enum rate_layer layer,
	struct traffic_rate *out, struct error *error);
double traffic_rate_pps(const struct traffic_rate *rate);

// The mean gap as an integer and a remainder that is carried from gap to gap.
struct exact_gap {
	uint64_t whole_ns, rest, of; // gap = whole_ns + rest / of
	uint64_t carried; // in 1/of ns
};

static inline void exact_gap_init(
	struct exact_gap *gap, unsigned __int128 numerator_ns, uint64_t denominator)
{
	gap->whole_ns = (uint64_t)(numerator_ns / denominator);
	gap->rest = (uint64_t)(numerator_ns % denominator);
	gap->of = denominator;
	gap->carried = 0;
}

static inline uint64_t exact_gap_next(struct exact_gap *gap)
{
	gap->carried += gap->rest;
	if (gap->carried < gap->of)
		return gap->whole_ns;
	gap->carried -= gap->of;
	return gap->whole_ns + 1;
}

// A schedule with its flows and frame sizes: what the sender asks.
struct traffic {
	const struct traffic_ops *ops;
	void *state;
	struct frame_mix mix;
	uint32_t n_flows, flow;
};

// schedule: "NAME[:key=value,...]" of traffic_table. Returns 0 or -errno with one line in error.
int traffic_create(const char *schedule, const struct traffic_rate *rate,
	const struct frame_mix *mix, uint32_t n_flows, uint64_t seed, struct traffic **out,
	struct error *error);
void traffic_destroy(struct traffic *traffic);

// Whether there is something to measure between two times of a run: a packet, and what the schedule
// is named for. Returns 0 or -EINVAL with one line in error.
int traffic_fits(const struct traffic *traffic, const struct traffic_rate *rate, uint64_t from_ns,
	uint64_t until_ns, struct error *error);

// How many departures may be due at one time, or nearly.
uint64_t traffic_at_once(const struct traffic *traffic);

// Hot path: the next departure.
static inline void traffic_next(struct traffic *traffic, struct departure *out)
{
	out->flow = traffic->flow;
	if (++traffic->flow == traffic->n_flows)
		traffic->flow = 0;
	out->frame_len = frame_mix_next(&traffic->mix);
	traffic->ops->next(traffic->state, out);
}

// All schedules, NULL at the end.
extern const struct traffic_ops *const traffic_table[];
const struct traffic_ops *traffic_find(const char *name, size_t name_len);
