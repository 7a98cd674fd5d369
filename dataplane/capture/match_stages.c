#include "match_stages.h"

#include "stages.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { PROGRESS_INTERVAL_NS = 250000000 };

static struct result_batch *batch_at(struct match_stages *stages, uint64_t i)
{
	return &stages->batches[i % N_RESULT_BATCHES];
}

static bool is_over(const struct merge_side *side)
{
	return side->batch->n == 0;
}

static bool has_frames(const struct merge_side *side)
{
	return side->queue.next < side->queue.end;
}

static bool has_batch(struct merge_side *side)
{
	if (side->batch != NULL)
		return true;
	side->batch = frame_stream_batch(side->stream);
	if (side->batch == NULL)
		return false;
	side->queue =
		(struct match_queue){side->batch->frames, side->batch->frames + side->batch->n};
	return true;
}

static bool can_match(void *context)
{
	struct match_stages *stages = context;

	if (stages->n_matched - stages->n_counted == N_RESULT_BATCHES)
		return false;
	if (match_has_final(stages->match))
		return true;
	return !stages->is_over && has_batch(&stages->ingress) && has_batch(&stages->egress);
}

// The other file is over: what is left of this batch comes now, as in match_feed until results are
// final.
static int feed_rest(struct match_stages *stages, struct merge_side *side)
{
	int err = 0;

	for (; err == 0 && has_frames(side) && !match_has_final(stages->match); side->queue.next++)
		err = side == &stages->ingress ? match_feed_ingress(stages->match, side->queue.next)
					       : match_feed_egress(stages->match, side->queue.next);
	return err;
}

// For a program that shows it.
static void say_progress(struct match_stages *stages)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (now_ns < stages->next_progress_ns)
		return;
	stages->next_progress_ns = now_ns + PROGRESS_INTERVAL_NS;
	fprintf(stderr, "progress %" PRIu64 " %" PRIu64 "\n", stages->ingress.batch->n_bytes,
		stages->egress.batch->n_bytes);
}

static void feed(struct match_stages *stages)
{
	if (!stages->has_begun) {
		stages->has_begun = true;
		if (!is_over(&stages->ingress))
			stages->results.first_ingress_ns = stages->ingress.batch->frames[0].ts_ns;
		if (!is_over(&stages->egress))
			stages->results.first_egress_ns = stages->egress.batch->frames[0].ts_ns;
	}
	if (is_over(&stages->ingress))
		stages->error = feed_rest(stages, &stages->egress);
	else if (is_over(&stages->egress))
		stages->error = feed_rest(stages, &stages->ingress);
	else
		stages->error =
			match_feed(stages->match, &stages->ingress.queue, &stages->egress.queue);
	if (stages->says_progress)
		say_progress(stages);
	stages->is_over =
		stages->error < 0 || (is_over(&stages->ingress) && is_over(&stages->egress));
	if (stages->is_over && stages->error == 0)
		match_end(stages->match);
}

// Until a side's batch is used up, or one of results is full.
static void match_some(void *context)
{
	struct match_stages *stages = context;
	struct result_batch *batch = batch_at(stages, stages->n_matched);

	batch->n = 0;
	do {
		if (!match_has_final(stages->match))
			feed(stages);
		batch->n += match_take(
			stages->match, batch->results + batch->n, RESULT_BATCH - batch->n);
	} while (batch->n < RESULT_BATCH && !stages->is_over && has_frames(&stages->ingress) &&
		 has_frames(&stages->egress));
}

static void give_back(struct merge_side *side)
{
	if (side->batch == NULL || has_frames(side))
		return;
	frame_stream_take(side->stream);
	side->batch = NULL;
}

static void hand_over(void *context)
{
	struct match_stages *stages = context;

	stages->n_matched += batch_at(stages, stages->n_matched)->n > 0;
	if (stages->is_over)
		return;
	give_back(&stages->ingress);
	give_back(&stages->egress);
}

static bool can_count(void *context)
{
	const struct match_stages *stages = context;

	return stages->n_counted < stages->n_matched;
}

static void count_some(void *context)
{
	struct match_stages *stages = context;
	const struct result_batch *batch = batch_at(stages, stages->n_counted);

	match_results_take(&stages->results, batch->results, batch->n);
}

static void give_results_back(void *context)
{
	struct match_stages *stages = context;

	stages->n_counted++;
}

int match_stages_run(struct match_stages *stages)
{
	// What is nearest to the end first: it makes room for the others.
	const struct stage list[] = {
		{can_count, count_some, give_results_back, stages},
		{can_match, match_some, hand_over, stages},
		frame_stream_stage(stages->ingress.stream),
		frame_stream_stage(stages->egress.stream),
	};
	const size_t n_stages = sizeof(list) / sizeof(list[0]);

	stages_run(list, n_stages, stages_threads(n_stages));
	return stages->error;
}
