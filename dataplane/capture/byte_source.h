#pragma once

// The decompressed bytes of a file, a pipe or memory as one window that slides forward: a block
// that stays in the cache, refilled by read(2) or a decompressor. Measured against mapping the
// file in pieces, read(2) into 512 KiB is a fifth faster and counts nothing as resident.

#include "error.h"

#include <stddef.h>
#include <stdint.h>

enum {
	BYTE_SOURCE_BLOCK = 512 * 1024,
	BYTE_SOURCE_MAX = 64 << 20, // the window never grows beyond
};

enum byte_source_state {
	BYTE_SOURCE_OPEN,
	BYTE_SOURCE_ENDED,
	BYTE_SOURCE_CUT_OFF, // the compressed stream ends early
	BYTE_SOURCE_FAILED, // damaged, or read(2) failed: failure says which
};

// The caller reads next..end, moves next forward and leaves the rest alone.
struct byte_source {
	const uint8_t *next;
	const uint8_t *end;
	uint64_t end_offset; // of end in the decompressed file
	enum byte_source_state state; // what follows end
	int failure; // errno; EBADMSG: the compressed data are damaged
	const char *compression; // static
	size_t capacity;
	uint8_t *block;
	struct raw_input *raw;
	const struct decoder_ops *decoder;
	void *decoder_state;
};

// path "-" is standard input. Returns 0 or -errno with one line in error.
int byte_source_open(const char *path, struct byte_source **out, struct error *error);

// Read from bytes, which must outlive the source, in blocks of block_bytes. Returns 0 or -ENOMEM.
int byte_source_memory(const void *bytes, size_t len, size_t block_bytes, struct byte_source **out);

// Make at least want bytes (at most BYTE_SOURCE_MAX) stand at next, fewer only at the end (see
// state). Returns how many stand there. Moves the window: pointers into it become invalid.
size_t byte_source_more(struct byte_source *source, size_t want);

static inline size_t byte_source_left(const struct byte_source *source)
{
	return (size_t)(source->end - source->next);
}

// The offset of a byte of the window in the decompressed file.
static inline uint64_t byte_source_offset(const struct byte_source *source, const uint8_t *at)
{
	return source->end_offset - (uint64_t)(source->end - at);
}

// NULL is a no-op.
void byte_source_close(struct byte_source *source);
