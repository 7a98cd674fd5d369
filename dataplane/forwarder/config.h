#pragma once

// What the command line of taut-forward says, checked as far as it can be before EAL starts.

#include "error.h"
#include "option_spec.h"
#include "port.h"
#include "transmit.h"
#include "wait.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options {
	struct option_list ports, nfs;
	const char *wait;
	const char *transmit, *gaps, *stamps, *stats; // gaps, stamps, stats "": none
	int core, writer_core; // -1: the program chooses
	bool memory; // print how much is wanted and end
	uint64_t burst, hold, stamp_every;
	uint64_t gaps_most; // 0: all
	uint64_t duration_ns; // 0: until a signal
	uint64_t gap_threshold_ns; // 0: as the ports allow
	bool check;
};

struct config {
	struct options options;
	int writer_core; // of the logs; -1: the poller's, there is no other
	struct wait wait;
	uint16_t burst; // as given, or by the transmit policy
	uint64_t gap_threshold_ns; // as given, or by the kinds of the ports
	uint64_t gap_per_packet_ns; // each packet handled may take this much more, by the same
	struct port_spec specs[PORTS_MAX];
	char *const *eal_options;
	int n_eal_options;
};

extern const struct option_spec forwarder_options[];
extern const size_t n_forwarder_options;

// Returns a command_line_result, or a negative errno with one line in error.
int config_parse(struct config *config, int argc, char *const *argv, struct error *error);
