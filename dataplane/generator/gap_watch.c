#include "gap_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gap_span {
	uint64_t start_tsc, end_tsc;
};

int gap_watch_create(struct gap_watch *watch, const struct gap_log_config *config, size_t n_latest)
{
	*watch = (struct gap_watch){
		.threshold_ticks = config->threshold_ticks,
		.n_full = UINT64_MAX,
		.mask = n_latest - 1,
		.keeps = true,
	};
	watch->latest = malloc(n_latest * sizeof(*watch->latest));
	if (watch->latest == NULL)
		return -ENOMEM;
	// Touched now, so that no page fault comes in the run. Not zero: calloc would not touch.
	memset(watch->latest, 0xff, n_latest * sizeof(*watch->latest));
	int err = gap_log_create(&watch->log, config);
	// What is not to be counted must not come into the log's file either.
	watch->log.threshold_ticks = UINT64_MAX / 2;
	return err;
}

void gap_watch_destroy(struct gap_watch *watch)
{
	gap_log_destroy(&watch->log);
	free(watch->latest);
	watch->latest = NULL;
}

void gap_watch_set_ring(struct gap_watch *watch, uint32_t size, uint32_t burst)
{
	// A ring may keep one place free: what waited in a full one is a burst less, at least.
	if (size >= 2 * burst)
		watch->n_full = size - burst;
	else
		watch->n_full = size < burst ? size : burst;
}

void gap_watch_start(struct gap_watch *watch, uint64_t now_tsc)
{
	watch->log.threshold_ticks = watch->threshold_ticks;
	// The first check before counted from 0 on, that is since boot.
	watch->log.work_packets = 0;
	watch->log.work_ticks = 0;
	watch->checkpoint_tsc = now_tsc;
	watch->longest_granted_ticks = 0;
	watch->n_packets = 0;
}

void gap_watch_remember(struct gap_watch *watch, uint64_t now_tsc)
{
	watch->latest[(watch->log.n - 1) & watch->mask] = (struct gap_span){
		.start_tsc = watch->checkpoint_tsc,
		.end_tsc = now_tsc,
	};
	watch->last_end_tsc = now_tsc;
}

bool gap_watch_overlaps(const struct gap_watch *watch, uint64_t from_tsc, uint64_t until_tsc)
{
	uint64_t end = watch->log.n;
	uint64_t low = end > watch->mask + 1 ? end - watch->mask - 1 : 0;
	uint64_t high = end;

	// Those before the oldest one known had ended when it began.
	if (low > 0 && from_tsc < watch->latest[low & watch->mask].start_tsc)
		return true;
	// The first gap that ends after from_tsc.
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (watch->latest[middle & watch->mask].end_tsc > from_tsc)
			high = middle;
		else
			low = middle + 1;
	}
	return low < end && watch->latest[low & watch->mask].start_tsc < until_tsc;
}
