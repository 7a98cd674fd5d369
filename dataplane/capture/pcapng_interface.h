#pragma once

// An interface of a pcapng file, as its block describes it: what pcapng.c has to know of a frame's.

#include "capture_priv.h"

enum {
	INTERFACE_MIN_BYTES = 20, // of its block
	STATISTICS_MIN_BYTES = 24,
};

// A time stamp t is (t * scale >> shift) / divisor ns since offset_s.
struct interface {
	uint64_t link_type; // CAPTURE_NO_INTERFACE: its block says none
	uint32_t scale;
	uint8_t shift;
	uint8_t fcs_len; // at the end of every frame
	uint64_t divisor;
	int64_t offset_s;
	uint64_t n_dropped; // while it was captured, as the file says so far
	uint64_t n_dropped_between; // the sum of what its packets say
};

// Of a block that is too short, or lost (len 0), CAPTURE_NO_INTERFACE.
struct interface interface_read(const uint8_t *at, uint32_t len, bool is_swapped);

// What the options of an enhanced packet block, or a block of statistics (STATISTICS_MIN_BYTES or
// more), add to n_dropped.
uint64_t interface_take_drops(
	struct interface *interface, const uint8_t *options, const uint8_t *end, bool is_swapped);
uint64_t interface_take_statistics(
	struct interface *interface, const uint8_t *at, uint32_t len, bool is_swapped);

// Hot path. False: beyond 64 bits of nanoseconds.
static inline bool interface_time(const struct interface *interface, uint64_t stamp, int64_t *ts_ns)
{
	unsigned __int128 units = (unsigned __int128)stamp * interface->scale >> interface->shift;
	__int128 ns = (__int128)interface->offset_s * 1000000000;

	if (interface->divisor > 1)
		units /= interface->divisor;
	ns += (__int128)units;
	*ts_ns = (int64_t)ns;
	return ns == (__int128)*ts_ns;
}
