#pragma once

// A file of records of one kind: a header, then records, and the header once more when it is
// closed. Used by record_writer (packets) and directly for what is written after the run.

#include "record_format.h"

#include <stddef.h>
#include <stdint.h>

struct record_file {
	int fd; // -1: not open
	int error; // -errno of the first append that failed
	struct record_file_header header; // n_records counts what has been appended
};

// Create path (an existing file is truncated) and write header; magic, version, kind and record
// size are filled in here. Returns 0 or -errno; on failure nothing stays open.
int record_file_create(struct record_file *file, const char *path, enum record_kind kind,
	const struct record_file_header *header);

// Append n records. Returns 0 or -errno (-ENOSPC: the disk is full); a partly written record is
// then possible, which n_records does not count, and nothing is appended behind it any more.
int record_file_append(struct record_file *file, const void *records, size_t n);

// Rewrite the header with last and the number of records, and close. Returns 0 or the first error,
// also of an append.
int record_file_close(struct record_file *file, const struct clock_point *last);

size_t record_size_of(enum record_kind kind);
