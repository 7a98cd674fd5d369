#pragma once

// DPDK's environment: memory and one core. It can be started only once in a process.

#include "error.h"
#include "port.h"

#include <stdbool.h>
#include <stddef.h>

struct eal_config {
	const char *program; // argv[0]
	int core; // -1: the last one this process may use
	unsigned int memory_mb; // pool_memory_mb
	unsigned int tables_mb; // beside it, for no packets
	const struct port_spec *ports; // its PCI devices are probed, no others
	size_t n_ports;
	uint16_t burst; // the most packets asked of a port at once; 0: dozens
	char *const *extra; // EAL options of the user's, passed on last
	int n_extra;
};

struct eal {
	int core; // where the calling thread runs from now on
	bool hugepages;
	char runtime_dir[256]; // removed by eal_stop; empty: none of its own
};

// Check config->core without starting anything. Returns 0 or -EINVAL with one line in error.
int eal_check_core(int core, struct error *error);

// Without enough free huge pages (or root) it starts on small pages and says what that costs.
// The calling thread is pinned to the core. Returns 0 or -errno with one line in error.
int eal_start(const struct eal_config *config, struct eal *out, struct error *error);
void eal_stop(struct eal *eal);

// "hugepages" or "no-huge", for reports.
const char *eal_memory(const struct eal *eal);
