// Zstandard (RFC 8878): frames and skippable frames, one after the other.

#include "decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

struct zstd {
	ZSTD_DStream *stream;
	bool is_inside; // a frame has begun and not ended
	bool is_broken; // what came before the damage is given first
};

static bool zstd_recognises(const uint8_t *first, size_t n)
{
	uint32_t magic;

	if (n < DECODER_MAGIC_BYTES)
		return false;
	magic = first[0] | (uint32_t)first[1] << 8 | (uint32_t)first[2] << 16 |
		(uint32_t)first[3] << 24;
	return magic == ZSTD_MAGICNUMBER ||
	       (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static void *zstd_open(void)
{
	struct zstd *zstd = calloc(1, sizeof(*zstd));

	if (zstd == NULL)
		return NULL;
	zstd->stream = ZSTD_createDStream();
	if (zstd->stream == NULL) {
		free(zstd);
		return NULL;
	}
	return zstd;
}

static ssize_t zstd_read(void *state, struct raw_input *raw, uint8_t *dst, size_t len)
{
	struct zstd *zstd = state;
	ZSTD_outBuffer out = {.dst = dst, .size = len};

	while (!zstd->is_broken) {
		ssize_t n_in = raw_input_fill(raw, 1);
		if (n_in < 0)
			return n_in;
		if (n_in == 0 && !zstd->is_inside)
			return 0;

		ZSTD_inBuffer in = {.src = raw->bytes + raw->at, .size = (size_t)n_in};
		size_t status = ZSTD_decompressStream(zstd->stream, &out, &in);
		raw->at += in.pos;
		zstd->is_broken = ZSTD_isError(status);
		zstd->is_inside = status != 0;
		if (out.pos > 0)
			return (ssize_t)out.pos;
		if (n_in == 0)
			return -ENODATA;
	}
	return -EBADMSG;
}

static void zstd_close(void *state)
{
	struct zstd *zstd = state;

	if (zstd == NULL)
		return;
	ZSTD_freeDStream(zstd->stream);
	free(zstd);
}

const struct decoder_ops decoder_zstd = {
	.name = "zstd",
	.recognises = zstd_recognises,
	.open = zstd_open,
	.read = zstd_read,
	.close = zstd_close,
};
