#pragma once

// Lines "key value" of the kernel's files.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Store the number behind key, which holds what parts the two. Returns false, and stores nothing,
// where the line is another's.
static inline bool key_value(const char *line, const char *key, uint64_t *out)
{
	size_t len = strlen(key);

	if (strncmp(line, key, len) != 0)
		return false;
	*out = strtoull(line + len, NULL, 10);
	return true;
}
