#include "byte_source.h"

#include "decoder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// In the order in which they are asked; the last takes everything.
static const struct decoder_ops *const decoder_table[] = {
	&decoder_gzip, &decoder_zstd, &decoder_none};

enum { N_DECODERS = sizeof(decoder_table) / sizeof(decoder_table[0]) };

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

// Past what is in bytes[].
static ssize_t read_stored(struct raw_input *in, void *dst, size_t len)
{
	ssize_t n;

	if (in->fd < 0) {
		n = (ssize_t)smaller(len, in->memory_len);
		if (n > 0)
			memcpy(dst, in->memory, (size_t)n);
		in->memory += n;
		in->memory_len -= (size_t)n;
		return n;
	}
	do
		n = read(in->fd, dst, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t raw_input_read(struct raw_input *in, void *dst, size_t len)
{
	size_t n = smaller(len, in->len - in->at);

	if (n == 0)
		return read_stored(in, dst, len);
	memcpy(dst, in->bytes + in->at, n);
	in->at += n;
	return (ssize_t)n;
}

ssize_t raw_input_fill(struct raw_input *in, size_t want)
{
	if (in->at == in->len)
		in->at = in->len = 0;
	while (in->len - in->at < want) {
		ssize_t n = read_stored(in, in->bytes + in->len, RAW_INPUT_BYTES - in->len);
		if (n < 0)
			return n;
		if (n == 0)
			break;
		in->len += (size_t)n;
	}
	return (ssize_t)(in->len - in->at);
}

// The look-ahead takes no more than the magic: a plain file then goes straight into the block.
static ssize_t peek_magic(struct raw_input *in)
{
	while (in->len < DECODER_MAGIC_BYTES) {
		ssize_t n = read_stored(in, in->bytes + in->len, DECODER_MAGIC_BYTES - in->len);
		if (n < 0)
			return n;
		if (n == 0)
			break;
		in->len += (size_t)n;
	}
	return (ssize_t)in->len;
}

static int choose_decoder(struct byte_source *source)
{
	ssize_t n = peek_magic(source->raw);
	size_t i = 0;

	if (n < 0)
		return (int)n;
	while (i < N_DECODERS - 1 && !decoder_table[i]->recognises(source->raw->bytes, (size_t)n))
		i++;
	source->decoder = decoder_table[i];
	source->compression = source->decoder->name;
	if (source->decoder->open == NULL)
		return 0;
	source->decoder_state = source->decoder->open();
	return source->decoder_state == NULL ? -ENOMEM : 0;
}

static int source_new(size_t block_bytes, struct byte_source **out)
{
	struct byte_source *source = calloc(1, sizeof(*source));

	*out = source;
	if (source == NULL)
		return -ENOMEM;
	source->raw = malloc(sizeof(*source->raw));
	if (source->raw == NULL)
		return -ENOMEM;
	source->raw->fd = -1;
	source->raw->at = source->raw->len = source->raw->memory_len = 0;
	source->block = malloc(block_bytes);
	if (source->block == NULL)
		return -ENOMEM;
	source->capacity = block_bytes;
	source->next = source->end = source->block;
	return 0;
}

static int source_begin(struct byte_source *source, const char *path)
{
	struct raw_input *raw = source->raw;

	raw->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (raw->fd < 0)
		return -errno;
	// A hint: pipes refuse it.
	(void)posix_fadvise(raw->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return choose_decoder(source);
}

int byte_source_open(const char *path, struct byte_source **out, struct error *error)
{
	int err = source_new(BYTE_SOURCE_BLOCK, out);

	if (err == 0)
		err = source_begin(*out, path);
	if (err < 0) {
		error_set(error, "%s: cannot be read: %s; name a pcap or pcapng file", path,
			strerror(-err));
		byte_source_close(*out);
		*out = NULL;
	}
	return err;
}

int byte_source_memory(const void *bytes, size_t len, size_t block_bytes, struct byte_source **out)
{
	int err = source_new(block_bytes, out);

	if (err == 0) {
		(*out)->raw->memory = bytes;
		(*out)->raw->memory_len = len;
		err = choose_decoder(*out);
	}
	if (err < 0) {
		byte_source_close(*out);
		*out = NULL;
	}
	return err;
}

static void source_end(struct byte_source *source, ssize_t status)
{
	if (status == 0) {
		source->state = BYTE_SOURCE_ENDED;
	} else if (status == -ENODATA) {
		source->state = BYTE_SOURCE_CUT_OFF;
	} else {
		source->state = BYTE_SOURCE_FAILED;
		source->failure = (int)-status;
	}
}

// What is left goes to the front of the block.
static void move_to_front(struct byte_source *source)
{
	size_t left = byte_source_left(source);

	memmove(source->block, source->next, left);
	source->next = source->block;
	source->end = source->block + left;
}

// Only once the block is full: a damaged length asks for more than the file has.
static int grow(struct byte_source *source)
{
	size_t left = byte_source_left(source);
	uint8_t *block = realloc(source->block, 2 * source->capacity);

	if (block == NULL)
		return -ENOMEM;
	source->block = block;
	source->capacity *= 2;
	source->next = block;
	source->end = block + left;
	return 0;
}

static void fill(struct byte_source *source)
{
	size_t left = byte_source_left(source);
	ssize_t n = source->decoder->read(
		source->decoder_state, source->raw, source->block + left, source->capacity - left);

	if (n <= 0) {
		source_end(source, n);
		return;
	}
	source->end += n;
	source->end_offset += (uint64_t)n;
}

size_t byte_source_more(struct byte_source *source, size_t want)
{
	if (byte_source_left(source) >= want || source->state != BYTE_SOURCE_OPEN)
		return byte_source_left(source);
	move_to_front(source);
	while (byte_source_left(source) < want && source->state == BYTE_SOURCE_OPEN) {
		if (byte_source_left(source) < source->capacity)
			fill(source);
		else if (2 * source->capacity > BYTE_SOURCE_MAX || grow(source) < 0)
			source_end(source, -ENOMEM);
	}
	return byte_source_left(source);
}

void byte_source_close(struct byte_source *source)
{
	if (source == NULL)
		return;
	if (source->decoder != NULL && source->decoder->close != NULL)
		source->decoder->close(source->decoder_state);
	if (source->raw != NULL && source->raw->fd >= 0)
		close(source->raw->fd);
	free(source->raw);
	free(source->block);
	free(source);
}
