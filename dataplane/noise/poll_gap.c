#include "poll_gap.h"

#include <errno.h>

int poll_gap_create(struct poll_gap *poll, const struct poll_gap_config *config)
{
	const struct gap_log_config gaps = {
		.threshold_ticks = config->threshold_ticks,
		.thread = GAP_NOISE,
		.capacity = config->capacity,
	};

	*poll = (struct poll_gap){.periods = histogram_array_create(1)};
	int err = poll->periods == NULL ? -errno : gap_log_create(&poll->gaps, &gaps);
	if (err < 0)
		poll_gap_destroy(poll);
	return err;
}

void poll_gap_destroy(struct poll_gap *poll)
{
	histogram_array_destroy(poll->periods, 1);
	poll->periods = NULL;
	gap_log_destroy(&poll->gaps);
}

void poll_gap_run(
	struct poll_gap *poll, uint64_t start_tsc, uint64_t end_tsc, volatile const int *stop)
{
	uint64_t before = clock_tsc();
	uint64_t now = before;

	while (now < start_tsc && *stop == 0) {
		before = now;
		now = clock_tsc();
	}
	if (now < start_tsc)
		return;
	// Who comes too late was kept from the core since the start.
	if (before > start_tsc)
		before = start_tsc;
	poll->first_tsc = before;
	poll_gap_account(poll, before, now);
	before = now;
	while (before < end_tsc && *stop == 0) {
		now = clock_tsc();
		poll_gap_account(poll, before, now);
		before = now;
	}
	poll->last_tsc = before;
}

uint64_t poll_gap_count_over(const struct poll_gap *poll, uint64_t ticks)
{
	struct histogram_bucket bucket;
	size_t cursor = histogram_index(ticks) + 1;
	uint64_t n = 0;

	while (histogram_next(poll->periods, &cursor, &bucket))
		n += bucket.count;
	return n;
}
