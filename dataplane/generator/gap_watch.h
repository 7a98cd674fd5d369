#pragma once

// The generator's own gaps: times when its loop did not run as it should. The loop reports its
// progress at checkpoints; a stretch between two of them that is longer than the threshold, plus
// an allowance for each packet handled, is a gap. What overlaps a gap is void: the delay may be
// the instrument's. A shorter stall can hide in what the packets are granted: the longest stretch
// that was no gap bounds it. All gaps go to the log; the times at which one of them left a receive
// ring full are kept here for packets that are lost.

#include "gap_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gap_watch {
	uint64_t checkpoint_tsc;
	uint64_t last_end_tsc; // end of the last gap; 0: none yet
	uint64_t filling_end_tsc; // of the last in which a receive ring can have filled; 0: none
	uint64_t full_ring_tsc; // what was sent before may have been held back; 0: nothing was
	uint64_t n_full; // so many that waited in a receive ring filled it
	uint64_t filling_ticks; // they take as long as that to come, at least
	uint32_t n_packets; // handled since the checkpoint
	bool keeps; // a full receive ring keeps the device waiting
	uint64_t longest_granted_ticks; // of the stretches that were no gap: what can have hidden
	struct gap_log log;
	uint64_t threshold_ticks; // of the log once the run has started
	struct full_span *spans; // a ring: span i stands at i & mask
	uint64_t n_spans, mask;
};

// What stands in a port's receive ring, as polls that return all they can find it.
struct waiting {
	uint64_t n; // found behind a gap in which the ring can have filled
	// When the oldest of ours was due that came in time; UINT64_MAX: there is none.
	uint64_t oldest_tsc;
};
static const struct waiting none_waiting = {.oldest_tsc = UINT64_MAX};

// n_spans is a power of two: the times gap_watch_was_full knows. Nothing is a gap before
// gap_watch_start. Returns 0 or -errno; destroy it also then.
int gap_watch_create(struct gap_watch *watch, const struct gap_log_config *config, size_t n_spans);
void gap_watch_destroy(struct gap_watch *watch);

// Packets wait in receive rings of this size, are taken by bursts, and come no nearer to each other
// than packet_ticks. Before, no ring is full.
void gap_watch_set_ring(
	struct gap_watch *watch, uint32_t size, uint32_t burst, uint64_t packet_ticks);

// The run starts now.
void gap_watch_start(struct gap_watch *watch, uint64_t now_tsc);

// Hot path, out of line because it is rare: from the checkpoint until now was a gap.
void gap_watch_remember(struct gap_watch *watch, uint64_t now_tsc);

// Hot path, likewise: a ring was full; it held what was due from oldest_tsc on, and has been
// emptied until now.
void gap_watch_remember_full(struct gap_watch *watch, uint64_t oldest_tsc, uint64_t now_tsc);

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

// Hot path: n more packets stood in a port that was last empty at since_tsc. If a gap let them
// wait that was long enough for it, and they are all that the ring takes, the device had nowhere to
// put those behind them: it lost them or held them back. The kernel never waits for a socket's
// ring. What a device sends in one go may be as many, and no gap's doing. Where none of ours waits
// it held what was sent since then.
static inline void gap_watch_waited(struct gap_watch *watch, struct waiting *waiting, uint32_t n,
	uint64_t since_tsc, uint64_t now_tsc)
{
	if (__builtin_expect(watch->filling_end_tsc <= since_tsc, 1))
		return;
	waiting->n += n;
	if (waiting->n >= watch->n_full)
		gap_watch_remember_full(watch,
			waiting->oldest_tsc != UINT64_MAX ? waiting->oldest_tsc : since_tsc,
			now_tsc);
}

// Can a packet sent then have found a receive ring full behind a gap? Binary search among the
// times kept; for lost packets. Before the first of them, if others were forgotten, it can: the
// instrument is blamed.
bool gap_watch_was_full(const struct gap_watch *watch, uint64_t sent_tsc);
