#pragma once

// The generator's loop: one thread that sends and receives. Everything reached from loop_send and
// loop_drain is hot path: no allocation, lock, log, system call or division by a variable.

#include "gap_watch.h"
#include "receiver.h"
#include "record_writer.h"
#include "sender.h"

#include <stdint.h>

enum loop_stop {
	LOOP_RUNS,
	LOOP_COMPLETE, // all was sent; draining: nothing is in flight
	LOOP_TIMEOUT, // sending: too far behind; draining: the deadline
	LOOP_SIGNAL,
	LOOP_WRITE_ERROR, // sending: record_writer_error tells which
};

struct loop {
	struct sender senders[2];
	struct receiver receivers[2];
	uint32_t n_senders, n_receivers;
	struct gap_watch gaps;
	struct record_writer *writer; // NULL: no records
	volatile const int *n_signals;
	int n_signals_allowed; // the loop ends when there are more
	uint64_t near_ticks; // a departure nearer than this is waited for
	uint64_t timeout_tsc;
	uint64_t n_iterations, min_ticks;
};

// The cost of a poll that finds nothing, in ticks; 0: each found something. Empties the ports of
// what others sent before.
uint64_t loop_measure_poll(struct loop *loop);

// Send and receive until all departures are sent. Returns why it ended.
enum loop_stop loop_send(struct loop *loop);

// Receive until nothing is in flight, whether records can be written or not. Returns why it ended.
enum loop_stop loop_drain(struct loop *loop);
