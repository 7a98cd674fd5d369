#pragma once

// Notes packets that episodes may be made of in late.bin while all are counted, each direction in
// the order of its numbers: the search for episodes need not read the others again. The file goes
// where there are too many.

#include "seq_order.h"

struct late_packets;

// Note those after the warm-up that took longer than above_ns, or did not come, up to n_most.
// Returns 0 or -errno.
int late_packets_create(
	const char *folder, int64_t above_ns, uint64_t n_most, struct late_packets **out);

// Returns 0 or -errno.
int late_packets_add(struct late_packets *late, uint8_t direction, const struct seq_packet *packet);

// Close the file and free the rest. Returns 0 or the first error. NULL: none.
int late_packets_close(struct late_packets *late);
