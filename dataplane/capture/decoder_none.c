// No compression: read(2) straight into the block.

#include "decoder.h"

static bool none_recognises(const uint8_t *first, size_t n)
{
	return true;
}

static ssize_t none_read(void *state, struct raw_input *in, uint8_t *dst, size_t len)
{
	return raw_input_read(in, dst, len);
}

const struct decoder_ops decoder_none = {
	.name = "none",
	.recognises = none_recognises,
	.read = none_read,
};
