#pragma once

// The files of a count, in the folder for its results.

#include "record_file.h"

enum { OUT_PATH_LEN = 4096 };

// Returns 0 or -ENAMETOOLONG.
int out_path(const char *folder, const char *name, char path[static OUT_PATH_LEN]);

// Create a file of records in which a tick is a nanosecond. Returns 0 or -errno.
int out_file_create(
	const char *folder, const char *name, enum record_kind kind, struct record_file *file);

// Returns 0 or -errno.
int out_file_close(struct record_file *file);
