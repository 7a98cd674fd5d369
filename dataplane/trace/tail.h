#pragma once

// --mode tail: only the events around late packets are kept. Events wait in memory until the
// generator's file has passed their time; then they are written, or dropped and marked as skipped.

#include "error.h"
#include "event_queue.h"
#include "late_packets.h"

#include <sched.h>

struct tail_config {
	struct late_config late;
	uint64_t memory_bytes; // of events that wait; beyond it the oldest are lost
	uint64_t disk_bytes; // of events.bin; beyond it nothing more is kept
	const cpu_set_t *cores; // watched
	struct pace *pace; // of whoever decides; may be NULL
};

// Writes a record that is kept. Returns 0 or -errno.
typedef int (*tail_write)(void *context, const struct event_record *record);

// A stretch of time and how many events were in it.
struct tail_stretch {
	uint64_t from_tsc, until_tsc, n;
};

struct tail {
	const struct tail_config *config;
	struct late_packets late;
	struct event_queue *queue;
	tail_write write;
	void *context;
	struct tail_stretch lost; // from the front of the queue, for want of memory; n = 0: none
	struct tail_stretch skipped; // since the last event that was kept; n = 0: none
	size_t n_passed; // windows whose end has come by
	uint64_t whole_until_tsc; // up to here all is kept that there was
	uint64_t n_kept, n_skipped, n_lost, n_over_disk;
	uint64_t n_written; // records, marks included
	bool is_disk_full;
};

// Begin at start_tsc. Returns 0 or -errno; call tail_close even then.
int tail_open(struct tail *tail, const struct tail_config *config, uint64_t start_tsc,
	tail_write write, void *context);
void tail_close(struct tail *tail);

// Add the next event; events come in the order of time.
void tail_take(struct tail *tail, const struct event_record *record);

// Read what the generator wrote meanwhile, and decide about all events before that. Returns 0, or
// -errno with one line in error.
int tail_decide(struct tail *tail, struct error *error);

// The generator has ended: decide about all. Returns 0, or -errno with one line in error.
int tail_finish(struct tail *tail, uint64_t stopped_tsc, struct error *error);
