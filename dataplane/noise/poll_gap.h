#pragma once

// One core that does nothing but read the clock. Whatever lies between two readings that is longer
// than they take was stolen: by the kernel, the hypervisor or the firmware. Every period goes to a
// histogram, and those above a threshold to a log with their times.

#include "clock.h"
#include "gap_log.h"
#include "histogram.h"

#include <stddef.h>
#include <stdint.h>

struct poll_gap_config {
	uint64_t threshold_ticks; // a longer period is a gap
	size_t capacity; // gaps beyond it are counted, not kept
};

// Written by the polling thread only; read by others once it has ended.
struct poll_gap {
	_Alignas(64) struct histogram *periods;
	struct gap_log gaps;
	uint64_t first_tsc, last_tsc; // from when to when; both 0: never
	uint64_t worst_ticks, worst_start_tsc;
};

// Take and touch the memory. Returns 0 or -errno.
int poll_gap_create(struct poll_gap *poll, const struct poll_gap_config *config);
void poll_gap_destroy(struct poll_gap *poll);

// Hot path: poll from start_tsc to end_tsc, or until *stop is not zero. Makes no system call. Gaps
// at either end count whole: first_tsc is the last reading before the start. Call it some time
// before start_tsc; if it is called later, the time since start_tsc is a gap.
void poll_gap_run(
	struct poll_gap *poll, uint64_t start_tsc, uint64_t end_tsc, volatile const int *stop);

// Periods longer than ticks: exact below 2^18 ticks, above to the width of a bucket (histogram.h).
uint64_t poll_gap_count_over(const struct poll_gap *poll, uint64_t ticks);

// Hot path: the clock was read at before_tsc, and then at now_tsc.
static inline void poll_gap_account(struct poll_gap *poll, uint64_t before_tsc, uint64_t now_tsc)
{
	uint64_t period = now_tsc - before_tsc;

	histogram_record(poll->periods, period);
	(void)gap_log_check(&poll->gaps, before_tsc, now_tsc, 0);
	if (__builtin_expect(period > poll->worst_ticks, 0)) {
		poll->worst_ticks = period;
		poll->worst_start_tsc = before_tsc;
	}
}
