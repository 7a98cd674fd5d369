#pragma once

// What the targets share. Each is linked with libFuzzer, which calls LLVMFuzzerTestOneInput.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

// assert() that no build type removes.
static inline void must(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

// Read a capture file twice, cut into blocks of block_bytes and into large ones: the frames lie in
// the file, the report agrees with them, and how the file is cut changes nothing.
void read_twice(const uint8_t *data, size_t len, size_t block_bytes);
