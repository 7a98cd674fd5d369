#pragma once

// The pipeline of taut-match: two stages read, one matches, one counts. Whoever is free takes the
// next; all memory between them goes round.

#include "frame_stream.h"
#include "match.h"
#include "match_results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RESULT_BATCH = 1024,
	N_RESULT_BATCHES = 8,
};

// One side of the merge: the batch at hand and what of it is still to be fed.
struct merge_side {
	struct frame_stream *stream;
	const struct frame_batch *batch; // NULL: the next is not read yet
	struct match_queue queue;
};

// Results on their way from the stage that matches to the one that counts.
struct result_batch {
	size_t n;
	struct match_result results[RESULT_BATCH];
};

// The caller opens the streams, the match and the results, and closes them; the rest begins as 0.
struct match_stages {
	struct merge_side ingress, egress;
	struct match *match;
	struct match_results results;
	bool says_progress; // on standard error, for a program that shows it

	// Batches [n_counted, n_matched) are full, the others free.
	struct result_batch batches[N_RESULT_BATCHES];
	uint64_t n_matched, n_counted;
	uint64_t next_progress_ns;
	bool has_begun, is_over;
	int error; // -ENOMEM of the match
};

// Match and count all frames of both streams. Returns 0 or -ENOMEM.
int match_stages_run(struct match_stages *stages);
