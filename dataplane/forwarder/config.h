#pragma once

// What the command line of taut-forward says, checked as far as it can be before EAL starts.

#include "error.h"
#include "option_spec.h"
#include "port.h"
#include "transmit.h"

#include <stddef.h>
#include <stdint.h>

struct config {
	struct option_list ports, nfs;
	const char *transmit;
	uint64_t burst;
	int core; // -1: the last one this process may use
	int writer_core; // of the gap log; -1: core, there is no other
	uint64_t duration_ns; // 0: until a signal
	uint64_t hold;
	const char *gaps_path, *stats_path; // "": none
	uint64_t gap_threshold_ns, gap_per_packet_ns; // as given, or by the kinds of the ports
	struct port_spec specs[PORTS_MAX];
	char *const *eal_options;
	int n_eal_options;
};

// Returns a command_line_result, or a negative errno with one line in error.
int config_parse(struct config *config, int argc, char *const *argv, struct error *error);
