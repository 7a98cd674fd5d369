#pragma once

// The generator's own gaps: times when its loop did not run as it should. The loop reports its
// progress at checkpoints; a stretch between two of them that is longer than the threshold, plus
// an allowance for each packet handled, is a gap. What overlaps a gap is void: the delay may be
// the instrument's. A shorter stall can hide in what the packets are granted: the longest stretch
// that was no gap bounds it. All gaps go to the log; the latest are kept here for packets that are
// lost.

#include "gap_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gap_watch {
	uint64_t checkpoint_tsc;
	uint64_t last_end_tsc; // end of the last gap; 0: none yet
	uint64_t full_ring_tsc; // what was sent before may have been held back; 0: nothing was
	uint64_t n_full; // so many that waited in a receive ring filled it
	uint32_t n_packets; // handled since the checkpoint
	bool keeps; // a full receive ring keeps the device waiting
	uint64_t longest_granted_ticks; // of the stretches that were no gap: what can have hidden
	struct gap_log log;
	uint64_t threshold_ticks; // of the log once the run has started
	struct gap_span *latest; // a ring: gap i stands at i & mask
	uint64_t mask;
};

// n_latest is a power of two: the gaps gap_watch_overlaps knows. Nothing is a gap before
// gap_watch_start. Returns 0 or -errno; destroy it also then.
int gap_watch_create(struct gap_watch *watch, const struct gap_log_config *config, size_t n_latest);
void gap_watch_destroy(struct gap_watch *watch);

// Packets wait in receive rings of this size, and are taken by bursts. Before, no ring is full.
void gap_watch_set_ring(struct gap_watch *watch, uint32_t size, uint32_t burst);

// The run starts now.
void gap_watch_start(struct gap_watch *watch, uint64_t now_tsc);

// Hot path, out of line because it is rare: from the checkpoint until now was a gap.
void gap_watch_remember(struct gap_watch *watch, uint64_t now_tsc);

// Hot path: progress up to now.
static inline void gap_watch_check(struct gap_watch *watch, uint64_t now_tsc)
{
	if (gap_log_check(&watch->log, watch->checkpoint_tsc, now_tsc, watch->n_packets))
		gap_watch_remember(watch, now_tsc);
	else if (__builtin_expect(
			 now_tsc - watch->checkpoint_tsc > watch->longest_granted_ticks, 0))
		watch->longest_granted_ticks = now_tsc - watch->checkpoint_tsc;
	watch->checkpoint_tsc = now_tsc;
	watch->n_packets = 0;
}

// Hot path: does [from_tsc, last checkpoint] overlap a gap? Gaps are in order, so the last one
// answers for all.
static inline bool gap_watch_since(const struct gap_watch *watch, uint64_t from_tsc)
{
	return watch->last_end_tsc > from_tsc;
}

// Hot path: n_waited packets stood in a port that was last empty at since_tsc. If a gap let them
// wait and they were all that the ring takes, the device had nowhere to put those behind them: it
// lost them or held them back. The kernel never waits for a socket's ring.
static inline void gap_watch_waited(
	struct gap_watch *watch, uint64_t n_waited, uint64_t since_tsc, uint64_t now_tsc)
{
	if (n_waited >= watch->n_full && watch->keeps && gap_watch_since(watch, since_tsc))
		watch->full_ring_tsc = now_tsc;
}

// Does [from_tsc, until_tsc] overlap a gap? Binary search among the latest; for lost packets. A
// time from which gaps may be forgotten is taken for one with a gap: the instrument is blamed.
bool gap_watch_overlaps(const struct gap_watch *watch, uint64_t from_tsc, uint64_t until_tsc);
