#include "traffic.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	NS_PER_S = 1000000000,
	L1_OVERHEAD = 20, // preamble 7, start delimiter 1, inter-frame gap 12 (IEEE 802.3)
	MAX_DIGITS = 15, // in all: so many are exact in Python, too
	MAX_DECIMALS = 6,
};

struct unit {
	const char *name;
	bool is_bits;
};

static const struct unit units[] = {
	{"pps", false},
	{"pkt/s", false},
	{"p/s", false},
	{"bps", true},
	{"bit/s", true},
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static int refuse(const char *text, const char *why, struct error *error)
{
	error_set(error, "--rate %s: %s", text, why);
	return -EINVAL;
}

static const char *skip_blanks(const char *text)
{
	while (*text == ' ')
		text++;
	return text;
}

// "1.25" becomes 125 / 100. Returns what follows the number, or NULL.
static const char *parse_decimal(const char *text, uint64_t *digits, uint64_t *scale)
{
	const char *at = text;
	int n_decimals = 0, n_digits = 0;

	*digits = 0;
	*scale = 1;
	for (; isdigit((unsigned char)*at) && n_digits < MAX_DIGITS; at++, n_digits++)
		*digits = *digits * 10 + (uint64_t)(*at - '0');
	if (n_digits == 0)
		return NULL;
	if (*at != '.')
		return at;
	for (at++; isdigit((unsigned char)*at) && n_decimals < MAX_DECIMALS; at++, n_decimals++) {
		*digits = *digits * 10 + (uint64_t)(*at - '0');
		*scale *= 10;
	}
	return n_decimals > 0 && n_digits + n_decimals <= MAX_DIGITS ? at : NULL;
}

static const char *parse_prefix(const char *text, uint64_t *factor)
{
	*factor = 1;
	if (*text == 'k' || *text == 'K')
		*factor = 1000;
	else if (*text == 'M')
		*factor = 1000000;
	else if (*text == 'G')
		*factor = NS_PER_S;
	return *factor > 1 ? text + 1 : text;
}

// NULL: text is no unit.
static const struct unit *find_unit(const char *text)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].name);
		if (strncmp(units[i].name, text, len) == 0 && *skip_blanks(text + len) == '\0')
			return &units[i];
	}
	return NULL;
}

int traffic_rate_parse(const char *text, const struct frame_mix *mix, enum rate_layer layer,
	struct traffic_rate *out, struct error *error)
{
	uint64_t digits, scale, factor;
	const char *at = parse_decimal(skip_blanks(text), &digits, &scale);
	const struct unit *unit = NULL;

	if (at != NULL)
		unit = find_unit(parse_prefix(skip_blanks(at), &factor));
	if (unit == NULL)
		return refuse(text,
			"a rate reads like 100kpps, 100 kpkt/s, 50Mbps or 10 Gbit/s, with at most "
			"15 digits, six of them decimals",
			error);
	if (digits == 0)
		return refuse(text, "the rate is zero; it must be positive", error);

	// Every factor divides a second, and lowest terms after each step keep 64 bits enough.
	uint64_t packets = digits, per_ns = scale * (NS_PER_S / factor), divisor;
	if (unit->is_bits) {
		uint64_t bytes = frame_mix_sum(mix) +
				 (layer == RATE_LAYER_L1 ? (uint64_t)L1_OVERHEAD * mix->n : 0);
		packets *= mix->n;
		divisor = common_divisor(packets, per_ns);
		packets /= divisor;
		per_ns = per_ns / divisor * bytes * 8;
	}
	divisor = common_divisor(packets, per_ns);
	out->packets = packets / divisor;
	out->per_ns = per_ns / divisor;
	if (out->packets > out->per_ns)
		return refuse(text, "more than one packet a nanosecond; lower it", error);
	if (out->per_ns / out->packets > UINT64_C(1000) * NS_PER_S)
		return refuse(text, "less than one packet in 1000 s; raise it", error);
	return 0;
}

double traffic_rate_pps(const struct traffic_rate *rate)
{
	return (double)rate->packets * 1e9 / (double)rate->per_ns;
}
