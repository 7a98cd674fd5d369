#include "in_flight.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct in_flight_size in_flight_size(double rate_pps, uint64_t at_once, uint64_t deadline_ns)
{
	double in_deadline = rate_pps * (double)deadline_ns / 1e9;
	double wanted = 2 * in_deadline + (double)at_once;
	uint64_t capacity = IN_FLIGHT_MIN_CAPACITY;

	while (capacity < IN_FLIGHT_MAX_CAPACITY && (double)capacity < wanted)
		capacity *= 2;
	return (struct in_flight_size){
		.capacity = capacity,
		.is_slow = (double)capacity > IN_FLIGHT_DEADLINES * in_deadline,
	};
}

int in_flight_init(struct in_flight *in_flight, uint64_t capacity)
{
	size_t size = capacity * sizeof(struct in_flight_entry);
	void *entries =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (entries == MAP_FAILED)
		return -errno;
	(void)madvise(entries, size, MADV_HUGEPAGE);
	// Touched now, so that no page fault comes in the run.
	memset(entries, 0, size);
	*in_flight = (struct in_flight){.entries = entries, .mask = capacity - 1};
	return 0;
}

void in_flight_fini(struct in_flight *in_flight)
{
	if (in_flight->entries != NULL)
		munmap(in_flight->entries, (in_flight->mask + 1) * sizeof(struct in_flight_entry));
	in_flight->entries = NULL;
}
