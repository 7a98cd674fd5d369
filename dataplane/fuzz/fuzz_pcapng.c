// A pcapng file: the first byte chooses the first section's byte order and the block size.

#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint32_t type = 0x0a0d0d0a;
	uint32_t byte_order;
	uint8_t *file;

	if (len < 13)
		return 0;
	byte_order = data[0] % 2 ? 0x1a2b3c4d : 0x4d3c2b1a;
	file = malloc(len - 1);
	must(file != NULL, "memory");
	memcpy(file, data + 1, len - 1);
	memcpy(file, &type, sizeof(type));
	memcpy(file + 8, &byte_order, sizeof(byte_order));
	read_twice(file, len - 1, 16 + data[0]);
	free(file);
	return 0;
}
