#pragma once

// Since when what a poll returns can have been in the port: the start of its arrival window. What
// a poll found none of came after it began. A poll with room to spare emptied the port as well, but
// for kinds that may leave packets (port_may_leave): there the next poll may find some that came
// before, though none that came before the last poll with room to spare. A full poll may have left
// packets behind anywhere; their window starts where its own did. Drivers that leave packets end
// where a cache line of descriptors does, and so a full poll may return a few less; not one of so
// few that it is hardly more than such a line.

#include <stdbool.h>
#include <stdint.h>

enum { ARRIVALS_CUT = 3 }; // of the 4 descriptors in a cache line (drivers/net/virtio of DPDK)

struct arrivals {
	uint64_t since_tsc; // of what the next poll returns
	uint64_t spare_tsc; // the last poll with room to spare
	bool may_leave; // port_may_leave
};

// Hot path: a poll, begun at or after before_tsc, returned n packets of the most that it could.
// Returns whether it was full.
static inline bool arrivals_polled(
	struct arrivals *arrivals, uint64_t before_tsc, uint32_t n, uint32_t most)
{
	if (n == most ||
		(arrivals->may_leave && most > 2 * ARRIVALS_CUT && n + ARRIVALS_CUT >= most))
		return true;
	arrivals->since_tsc = arrivals->may_leave && n > 0 ? arrivals->spare_tsc : before_tsc;
	arrivals->spare_tsc = before_tsc;
	return false;
}
