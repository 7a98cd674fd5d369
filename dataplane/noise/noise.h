#pragma once

// Polls on several cores at the same time, one pinned thread each.

#include "clock.h"
#include "error.h"
#include "poll_gap.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

struct noise_config {
	cpu_set_t cores;
	uint64_t duration_ns;
	uint64_t threshold_ns;
	size_t capacity; // gaps kept of each core
	int priority; // SCHED_FIFO 1-99; 0: as the calling thread
	volatile const int *stop; // not zero: end
};

struct noise_core {
	struct poll_gap poll;
	struct noise *noise;
	pthread_t thread;
	int core;
};

struct noise {
	struct noise_config config;
	struct noise_core *cores;
	size_t n_cores; // whose memory is taken
	struct clock_point points[2 * CLOCK_POINTS]; // half before, half after
	uint64_t tsc_hz; // as measured before
	uint64_t start_tsc;
	struct noise_gate *gate;
};

// Take the memory and measure the clock. Returns 0 or -errno, with one line in error; close it
// also then.
int noise_open(struct noise *noise, const struct noise_config *config, struct error *error);

// Start all threads, poll, wait for their end. SIGINT and SIGTERM go to the polling threads
// meanwhile: where one of them has the only core at a real-time priority, nobody else could take
// them. Returns 0 or -errno, with one line in error.
int noise_run(struct noise *noise, struct error *error);

void noise_close(struct noise *noise);
