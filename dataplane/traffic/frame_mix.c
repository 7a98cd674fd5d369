#include "traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MIN_FRAME = 64, // Ethernet's minimum, and just what headers, probe and FCS need
	MAX_FRAME = 1518, // Ethernet's maximum without VLAN tag
};

// Simple IMIX as used since Agilent's "The Journal of Internet Test Methodologies" (2007).
static const uint16_t imix[] = {64, 64, 64, 64, 64, 64, 64, 570, 570, 570, 570, 1518};

int frame_mix_parse(struct frame_mix *mix, const char *text, struct error *error)
{
	char *end;

	*mix = (struct frame_mix){0};
	if (strcmp(text, "imix") == 0) {
		memcpy(mix->pattern, imix, sizeof(imix));
		mix->n = sizeof(imix) / sizeof(imix[0]);
		return 0;
	}

	unsigned long len = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0') {
		error_set(error, "--frame %s: a size in bytes or imix is accepted", text);
		return -EINVAL;
	}
	if (len < MIN_FRAME || len > MAX_FRAME) {
		error_set(error,
			"--frame %s: headers, probe and FCS need %d B and Ethernet allows %d B; "
			"choose a size between them",
			text, MIN_FRAME, MAX_FRAME);
		return -EINVAL;
	}
	mix->pattern[0] = (uint16_t)len;
	mix->n = 1;
	return 0;
}

uint32_t frame_mix_sum(const struct frame_mix *mix)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < mix->n; i++)
		sum += mix->pattern[i];
	return sum;
}

void frame_mix_seed(struct frame_mix *mix, uint64_t seed)
{
	prng_seed(&mix->prng, seed);
	mix->at = 0;
}

// One step of Fisher and Yates' shuffle a packet, so that no packet pays for a whole pass.
uint16_t frame_mix_next(struct frame_mix *mix)
{
	if (mix->n == 1)
		return mix->pattern[0];

	uint32_t other = mix->at + (uint32_t)prng_below(&mix->prng, mix->n - mix->at);
	uint16_t len = mix->pattern[other];
	mix->pattern[other] = mix->pattern[mix->at];
	mix->pattern[mix->at] = len;
	if (++mix->at == mix->n)
		mix->at = 0;
	return len;
}
