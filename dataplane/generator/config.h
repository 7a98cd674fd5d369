#pragma once

// What the command line asks for: the option table, and the values worked out from it.

#include "command_line.h"
#include "error.h"
#include "measurement.h"
#include "port.h"
#include "traffic.h"

#include <stdbool.h>
#include <stdint.h>

enum record_void {
	RECORD_VOID_ALL,
	RECORD_VOID_SLOW,
};

struct options {
	const char *tx, *rx;
	bool both;
	const char *rate;
	uint32_t rate_layer; // enum rate_layer
	const char *frame, *schedule;
	uint64_t rx_queues, flows, destinations, duration_ns, count, warm_up_ns, seed;
	int core, writer_core, device_core; // -1: not given
	uint64_t device_pid; // 0: not given
	const char *out;
	uint32_t record; // enum record_mode
	uint32_t record_void; // enum record_void
	uint64_t ring_mib, tail_one_in;
	uint64_t record_most; // 0: no limit
	uint64_t record_within_ns; // 0: as long as the ring has room
	bool publish;
	bool json;
	uint64_t gap_threshold_ns, deadline_ns, link_timeout_ns, run_id;
	bool device_holds;
	bool check;
	bool accept_unstable_clock;
};

struct config {
	struct options options;
	struct port_spec ports[2]; // [0] sends direction 0, [1] receives it
	size_t n_ports; // 1: one port is both
	struct frame_mix mix;
	struct traffic_rate rate;
	uint64_t at_once; // departures of the schedule
	uint32_t run_id;
	uint64_t duration_ns, count; // UINT64_MAX: unlimited
	uint64_t quantum_ns, gap_threshold_ns, gap_per_packet_ns;
	bool ring_keeps; // a full receive ring keeps the device waiting
	int argc;
	char *const *argv;
	int n_used; // arguments before EAL's
};

extern const char *const record_modes[]; // by enum record_mode
extern const struct option_spec generator_options[];
extern const size_t n_generator_options;

// Returns COMMAND_LINE_RUN, COMMAND_LINE_DONE, or -errno with one line in error: all that can be
// found wrong before anything is started.
int config_parse(struct config *config, int argc, char *const *argv, struct error *error);
