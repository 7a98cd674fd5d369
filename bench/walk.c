// Walk the records of memory-mapped pcap files and do nothing else: the speed at which memory can
// be read, against which bench/captures.py holds taut. Prints records and the sum of their stamps.

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct record {
	uint32_t s, ns, cap_len, wire_len;
};

static int walk(const char *path, uint64_t *n, uint64_t *sum)
{
	struct stat stat;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &stat) < 0)
		return -1;
	const uint8_t *bytes =
		mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return -1;
	const uint8_t *end = bytes + stat.st_size;
	for (const uint8_t *at = bytes + 24; at + sizeof(struct record) <= end; (*n)++) {
		struct record record;

		memcpy(&record, at, sizeof(record));
		*sum += record.s * UINT64_C(1000000000) + record.ns;
		at += sizeof(record) + record.cap_len;
	}
	return munmap((void *)bytes, (size_t)stat.st_size);
}

int main(int argc, char **argv)
{
	uint64_t n = 0, sum = 0;

	for (int i = 1; i < argc; i++) {
		if (walk(argv[i], &n, &sum) < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	printf("{\"frames\": %" PRIu64 ", \"sum_ns\": %" PRIu64 "}\n", n, sum);
	return 0;
}
