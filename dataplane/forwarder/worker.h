#pragma once

// The forwarder's loop: poll each port in turn, run the network functions, transmit. One core,
// run to completion: nothing else runs there and nothing is handed on.

#include "gap_log.h"
#include "pipeline.h"
#include "stamp_log.h"
#include "transmit.h"
#include "wait.h"

#include <stdint.h>

struct worker {
	// Hot, read only after the start.
	struct port *ports[PORTS_MAX];
	uint16_t n_ports;
	uint16_t burst; // packets one poll may return
	uint64_t end_tsc; // stop then; UINT64_MAX: never
	volatile const int *stop; // not zero: end; the signal handler writes it
	// Hot, written by the worker's core only.
	struct pipeline pipeline;
	struct transmit transmit;
	struct egress egress[PORTS_MAX];
	uint64_t n_rx[PORTS_MAX];
	uint64_t n_unforwarded; // a network function named a port that is not there
	uint64_t n_iterations, min_loop_ticks;
	struct gap_log gaps;
	struct stamp_log stamps;
	struct wait wait;
	uint64_t cpu_ns; // of the processor that the whole run took
};

// Run until stop or end_tsc. The caller has opened the ports and initialised the members.
void worker_run(struct worker *worker);

// The same for a worker that sleeps while no packet comes: wait says when, and port_listen was
// called for each port, by this thread. Time asleep is no gap: it is counted in wait.
void worker_run_sleeping(struct worker *worker);
