#include "act_schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MICRO = 1000000, // a rate is counted in millionths of an act a second
	DECIMALS = 6,
	MAX_PER_S = 100000,
};

static const uint64_t second_ns = UINT64_C(1000000000);

// The digits behind the point as millionths; NULL when there are too many.
static const char *parse_fraction(const char *text, uint64_t *micro)
{
	uint64_t scale = MICRO;

	for (int i = 0; isdigit((unsigned char)*text); i++) {
		if (i == DECIMALS)
			return NULL;
		scale /= 10;
		*micro += (uint64_t)(*text++ - '0') * scale;
	}
	return text;
}

int act_rate_parse(const char *text, struct act_rate *out, struct error *error)
{
	char *end = NULL;
	const char *rest = NULL;
	uint64_t micro = 0;

	if (isdigit((unsigned char)*text)) {
		uint64_t whole = strtoull(text, &end, 10);
		micro = whole > MAX_PER_S ? UINT64_MAX : whole * MICRO;
		rest = end;
	}
	if (rest != NULL && micro != UINT64_MAX && *rest == '.')
		rest = parse_fraction(rest + 1, &micro);
	if (rest == NULL || strcmp(rest, "/s") != 0 || micro == 0 ||
		micro > (uint64_t)MAX_PER_S * MICRO) {
		error_set(error, "--rate %s: not a rate from 0.000001/s to %d/s; write it as 100/s",
			text, MAX_PER_S);
		return -EINVAL;
	}
	*out = (struct act_rate){.acts = micro, .per_ns = MICRO * second_ns};
	return 0;
}

// Rounded down. 128 bits: a day at the highest rate passes 64.
static uint64_t place_ns(const struct act_rate *rate, uint64_t n)
{
	return (uint64_t)((unsigned __int128)n * rate->per_ns / rate->acts);
}

uint64_t act_rate_period_ns(const struct act_rate *rate)
{
	return place_ns(rate, 1);
}

uint64_t act_rate_count(const struct act_rate *rate, uint64_t duration_ns)
{
	return (uint64_t)((unsigned __int128)duration_ns * rate->acts / rate->per_ns) + 1;
}

void act_schedule_init(struct act_schedule *schedule, const struct act_rate *rate, uint64_t seed)
{
	*schedule = (struct act_schedule){.rate = *rate, .width_ns = act_rate_period_ns(rate) / 2};
	prng_seed(&schedule->prng, seed);
}

// The grid begins a quarter of a period in: all acts of n periods lie within them.
uint64_t act_schedule_next(struct act_schedule *schedule)
{
	uint64_t quarter_ns = schedule->width_ns / 2;
	uint64_t offset_ns = prng_below(&schedule->prng, schedule->width_ns + 1);

	return place_ns(&schedule->rate, schedule->n++) + quarter_ns + offset_ns;
}
