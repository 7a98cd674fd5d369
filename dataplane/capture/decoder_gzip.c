// gzip (RFC 1952): one member or several, one after the other.

#include "decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

struct gzip {
	z_stream stream;
	bool is_inside; // a member has begun and not ended
};

static bool gzip_recognises(const uint8_t *first, size_t n)
{
	return n >= 2 && first[0] == 0x1f && first[1] == 0x8b;
}

static void *gzip_open(void)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	// 16: expect gzip's header and check its CRC.
	if (gzip != NULL && inflateInit2(&gzip->stream, 16 + MAX_WBITS) != Z_OK) {
		free(gzip);
		return NULL;
	}
	return gzip;
}

// Whether the file goes on with another member. Zeros after the last one are padding, as for
// gzip(1): tapes and block devices leave them.
static bool gzip_begins_member(struct gzip *gzip, const struct raw_input *in)
{
	if (in->bytes[in->at] == 0)
		return false;
	gzip->is_inside = true;
	return inflateReset(&gzip->stream) == Z_OK;
}

static ssize_t gzip_read(void *state, struct raw_input *in, uint8_t *dst, size_t len)
{
	struct gzip *gzip = state;
	z_stream *stream = &gzip->stream;

	stream->next_out = dst;
	stream->avail_out = (uInt)len;
	for (;;) {
		ssize_t n_in = raw_input_fill(in, 1);
		if (n_in < 0)
			return n_in;
		if (!gzip->is_inside && (n_in == 0 || !gzip_begins_member(gzip, in)))
			return 0;

		stream->next_in = in->bytes + in->at;
		stream->avail_in = (uInt)n_in;
		int status = inflate(stream, Z_NO_FLUSH);
		in->at = in->len - stream->avail_in;
		if (status == Z_STREAM_END)
			gzip->is_inside = false;
		if (stream->avail_out < len)
			return (ssize_t)(len - stream->avail_out);
		if (status == Z_MEM_ERROR)
			return -ENOMEM;
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			return -EBADMSG;
		if (n_in == 0 && gzip->is_inside)
			return -ENODATA;
	}
}

static void gzip_close(void *state)
{
	struct gzip *gzip = state;

	if (gzip == NULL)
		return;
	inflateEnd(&gzip->stream);
	free(gzip);
}

const struct decoder_ops decoder_gzip = {
	.name = "gzip",
	.recognises = gzip_recognises,
	.open = gzip_open,
	.read = gzip_read,
	.close = gzip_close,
};
