#include "gap_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// What was sent in it can have found a receive ring full.
struct full_span {
	uint64_t from_tsc, until_tsc;
};

int gap_watch_create(struct gap_watch *watch, const struct gap_log_config *config, size_t n_spans)
{
	*watch = (struct gap_watch){
		.threshold_ticks = config->threshold_ticks,
		.n_full = UINT64_MAX,
		.mask = n_spans - 1,
		.keeps = true,
	};
	watch->spans = malloc(n_spans * sizeof(*watch->spans));
	if (watch->spans == NULL)
		return -ENOMEM;
	// Touched now, so that no page fault comes in the run. Not zero: calloc would not touch.
	memset(watch->spans, 0xff, n_spans * sizeof(*watch->spans));
	int err = gap_log_create(&watch->log, config);
	// What is not to be counted must not come into the log's file either.
	watch->log.threshold_ticks = UINT64_MAX / 2;
	return err;
}

void gap_watch_destroy(struct gap_watch *watch)
{
	gap_log_destroy(&watch->log);
	free(watch->spans);
	watch->spans = NULL;
}

void gap_watch_set_ring(
	struct gap_watch *watch, uint32_t size, uint32_t burst, uint64_t packet_ticks)
{
	// A ring may keep one place free: what waited in a full one is a burst less, at least.
	if (size >= 2 * burst)
		watch->n_full = size - burst;
	else
		watch->n_full = size < burst ? size : burst;
	watch->filling_ticks = watch->n_full * packet_ticks;
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
	watch->last_end_tsc = now_tsc;
	if (now_tsc - watch->checkpoint_tsc >= watch->filling_ticks)
		watch->filling_end_tsc = now_tsc;
}

static struct full_span *span_at(const struct gap_watch *watch, uint64_t i)
{
	return &watch->spans[i & watch->mask];
}

static uint64_t oldest_known(const struct gap_watch *watch)
{
	return watch->n_spans > watch->mask + 1 ? watch->n_spans - watch->mask - 1 : 0;
}

void gap_watch_remember_full(struct gap_watch *watch, uint64_t oldest_tsc, uint64_t now_tsc)
{
	if (watch->keeps)
		watch->full_ring_tsc = now_tsc;
	if (watch->n_spans == 0 || span_at(watch, watch->n_spans - 1)->until_tsc < oldest_tsc)
		span_at(watch, watch->n_spans++)->from_tsc = oldest_tsc;
	span_at(watch, watch->n_spans - 1)->until_tsc = now_tsc;
	// Those it reaches back to begin where it does: the first that ends after a time then
	// answers for all.
	for (uint64_t i = watch->n_spans; i > oldest_known(watch); i--) {
		struct full_span *span = span_at(watch, i - 1);
		if (span->until_tsc < oldest_tsc)
			break;
		if (span->from_tsc > oldest_tsc)
			span->from_tsc = oldest_tsc;
	}
}

bool gap_watch_was_full(const struct gap_watch *watch, uint64_t sent_tsc)
{
	uint64_t low = oldest_known(watch), high = watch->n_spans;

	if (low > 0 && sent_tsc < span_at(watch, low)->from_tsc)
		return true;
	// The first that ends at that time or later.
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (span_at(watch, middle)->until_tsc >= sent_tsc)
			high = middle;
		else
			low = middle + 1;
	}
	return low < watch->n_spans && span_at(watch, low)->from_tsc <= sent_tsc;
}
