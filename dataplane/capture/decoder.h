#pragma once

// What a capture file is compressed with. decoder_none.c, decoder_gzip.c and decoder_zstd.c
// implement it; decoder_table in byte_source.c names them.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	RAW_INPUT_BYTES = 128 * 1024,
	DECODER_MAGIC_BYTES = 4,
};

// The file as it is stored: from a descriptor, or from memory (fd < 0).
struct raw_input {
	int fd;
	const uint8_t *memory; // what is left of it
	size_t memory_len;
	size_t at, len; // bytes[at..len) are read and not yet taken
	uint8_t bytes[RAW_INPUT_BYTES];
};

// Up to len bytes, what is in bytes[] first. 0: the end. Or -errno.
ssize_t raw_input_read(struct raw_input *in, void *dst, size_t len);

// Make at least want bytes stand in bytes[], fewer only at the end; want <= RAW_INPUT_BYTES.
// Returns how many there are or -errno.
ssize_t raw_input_fill(struct raw_input *in, size_t want);

struct decoder_ops {
	const char *name; // "gzip"; of the report
	// first: the file's first n bytes, fewer than DECODER_MAGIC_BYTES only if it has no more.
	bool (*recognises)(const uint8_t *first, size_t n);
	// NULL: out of memory. Without open, state is NULL.
	void *(*open)(void);
	// More than 0 bytes to dst, or 0 at the end, -ENODATA if the input ends inside a compressed
	// stream, -EBADMSG if it is damaged, or -errno of reading.
	ssize_t (*read)(void *state, struct raw_input *in, uint8_t *dst, size_t len);
	void (*close)(void *state); // takes NULL
};

extern const struct decoder_ops decoder_none;
extern const struct decoder_ops decoder_gzip;
extern const struct decoder_ops decoder_zstd;
