#pragma once

// The generator's own gaps: times when its loop did not run as it should. The loop reports its
// progress at checkpoints; a stretch between two of them that is longer than the threshold, plus
// an allowance for each packet handled, is a gap. What overlaps a gap is void: the delay may be
// the instrument's.

#include "gap_log.h"

#include <stdbool.h>
#include <stdint.h>

struct gap_watch {
	uint64_t checkpoint_tsc;
	uint64_t last_end_tsc; // end of the last gap; 0: none yet
	uint32_t n_packets; // handled since the checkpoint
	struct gap_log log;
};

// The run starts now: forget what was before.
static inline void gap_watch_start(struct gap_watch *watch, uint64_t now_tsc)
{
	watch->checkpoint_tsc = now_tsc;
	watch->last_end_tsc = 0;
	watch->n_packets = 0;
	watch->log.n = 0;
	watch->log.not_logged = 0;
	watch->log.total_ticks = 0;
	watch->log.max_ticks = 0;
}

// Hot path: progress up to now.
static inline void gap_watch_check(struct gap_watch *watch, uint64_t now_tsc)
{
	if (gap_log_check(&watch->log, watch->checkpoint_tsc, now_tsc, watch->n_packets))
		watch->last_end_tsc = now_tsc;
	watch->checkpoint_tsc = now_tsc;
	watch->n_packets = 0;
}

// Hot path: does [from_tsc, last checkpoint] overlap a gap? Gaps are in order, so the last one
// answers for all.
static inline bool gap_watch_since(const struct gap_watch *watch, uint64_t from_tsc)
{
	return watch->last_end_tsc > from_tsc;
}

// Does [from_tsc, until_tsc] overlap a gap? Binary search in the log; for lost packets.
bool gap_watch_overlaps(const struct gap_watch *watch, uint64_t from_tsc, uint64_t until_tsc);
