#pragma once

// Runs the stages of a pipeline on a few threads: each stage by one thread at a time, whichever is
// free. With as many threads as cores no core waits while any stage has work, however unequal the
// stages are, and nobody is woken for a single piece of it.

#include <stdbool.h>
#include <stddef.h>

enum { STAGES_MOST = 8 };

struct stage {
	// Whether a piece of work can be done: its input is there, and room for what comes of it.
	bool (*is_ready)(void *context);
	// Do a piece, beside the other stages. What they look at is left as it is.
	void (*work)(void *context);
	// Hand over what was done and free what was used. No other is_ready or done runs meanwhile.
	void (*done)(void *context);
	void *context;
};

// Work until no stage is ready any more. Of several that are, the first goes first. Threads that
// cannot be had are done without: this one is enough.
void stages_run(const struct stage *stages, size_t n_stages, size_t n_threads);

// How many threads the stages can keep busy here: never more than there are stages, and two if
// there is one core, so that a stage that waits for its file does not hold up the others.
size_t stages_threads(size_t n_stages);
