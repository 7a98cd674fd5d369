// Poisson arrivals: exponential gaps, -ln(u) times the mean, u uniform in (0, 1].
//
// The logarithm is a table of log2 over one octave with linear interpolation, in integers: as
// cheap as a multiplication, the same on every machine. Its error is below (2^-12)^2 / 8 * log2(e)
// = 1.1e-8 octaves, so a gap is wrong by less than 1e-8 of the mean gap (poisson_test holds it
// to that), far below the nanosecond.

#include "traffic.h"

#include <math.h>

enum {
	LOG_BITS = 12, // table entries an octave
	FRACTION_BITS = 40, // of a table entry
};

struct poisson {
	struct prng prng;
	uint64_t mean_q20; // ns with 20 fractional bits: rates down to 1 packet in 4 hours
	uint64_t carried_q20; // fraction of a nanosecond not yet given
	uint64_t log2_q40[(1 << LOG_BITS) + 1]; // log2(1 + i / 2^LOG_BITS)
};

static int poisson_init(void *state, const void *options, const struct traffic_rate *rate,
	uint64_t seed, struct error *error)
{
	struct poisson *poisson = state;

	prng_seed(&poisson->prng, seed);
	poisson->mean_q20 = (uint64_t)(((unsigned __int128)rate->per_ns << 20) / rate->packets);
	for (uint32_t i = 0; i <= 1 << LOG_BITS; i++)
		poisson->log2_q40[i] = (uint64_t)llround(log2(1 + (double)i / (1 << LOG_BITS)) *
							 (double)(UINT64_C(1) << FRACTION_BITS));
	return 0;
}

// 64 - log2(u) for u in 1..2^64-1, with FRACTION_BITS fractional bits.
static uint64_t minus_log2_q40(const struct poisson *poisson, uint64_t u)
{
	unsigned int zeros = (unsigned int)__builtin_clzll(u);
	uint64_t mantissa = u << zeros; // leading one at bit 63
	uint64_t index = (mantissa << 1) >> (64 - LOG_BITS);
	uint64_t within = (mantissa << (1 + LOG_BITS)) >> 32; // 32 bits
	uint64_t low = poisson->log2_q40[index];
	uint64_t step = poisson->log2_q40[index + 1] - low;

	return ((uint64_t)(zeros + 1) << FRACTION_BITS) - low - ((step * within) >> 32);
}

static void poisson_next(void *state, struct departure *out)
{
	struct poisson *poisson = state;
	static const uint64_t ln2_q64 = UINT64_C(0xb17217f7d1cf79ab);
	uint64_t u = prng_next(&poisson->prng) | 1; // never 0
	uint64_t nats_q40 =
		(uint64_t)(((unsigned __int128)minus_log2_q40(poisson, u) * ln2_q64) >> 64);
	uint64_t gap_q20 =
		(uint64_t)(((unsigned __int128)nats_q40 * poisson->mean_q20) >> FRACTION_BITS) +
		poisson->carried_q20;

	out->gap_ns = gap_q20 >> 20;
	poisson->carried_q20 = gap_q20 & ((1 << 20) - 1);
}

const struct traffic_ops traffic_poisson = {
	.name = "poisson",
	.summary = "exponential gaps with mean 1/rate",
	.state_size = sizeof(struct poisson),
	.init = poisson_init,
	.next = poisson_next,
};
