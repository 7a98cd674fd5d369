// A pcap file: the first byte chooses magic and block size, the others follow the magic.

#include "fuzz.h"

#include <string.h>

static const uint32_t magics[] = {
	0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0xa1b2cd34, 0x34cdb2a1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *file;

	if (len < 5)
		return 0;
	file = malloc(len - 1);
	must(file != NULL, "memory");
	memcpy(file, data + 1, len - 1);
	memcpy(file, &magics[data[0] % 6], sizeof(magics[0]));
	read_twice(file, len - 1, 16 + data[0]);
	free(file);
	return 0;
}
