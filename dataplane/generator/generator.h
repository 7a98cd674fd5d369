#pragma once

// One run of the generator: what it holds, from opening the ports to the written files.

#include "clock.h"
#include "config.h"
#include "device_use.h"
#include "eal.h"
#include "energy.h"
#include "error.h"
#include "loop.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct live;

// Read before the first packet is sent, and when all are back.
struct use {
	uint64_t now_tsc;
	struct device_use device; // where asked for
	struct energy energy;
	struct port_drops drops[2]; // of each receiver's port
};

struct generator {
	const struct config *config;
	struct live *live;
	struct eal eal;
	bool eal_is_up;
	struct rte_mempool *pool;
	struct port *ports[2]; // [0] sends, [1] receives direction 0; one port may be both
	uint32_t n_directions;
	struct traffic *traffic[2];
	struct measurement measurements[2];
	struct loop loop;

	struct clock_point points[2 * CLOCK_POINTS]; // before the run, after it
	uint64_t tsc_hz; // measured before the run: what the schedule is kept with
	uint64_t epoch_tsc;
	uint64_t send_end_tsc;
	struct use before, after;
	enum loop_stop stop; // of sending
	bool was_interrupted; // sending or draining
	int write_error; // -errno of the first file that could not be written
	char write_error_path[PATH_MAX];
	uint64_t n_records, n_records_lost, n_records_beyond, n_stalls;
};

// Start EAL, open the ports, take all memory, wait for the links. Returns 0, -EINTR after a
// signal, or -errno with one line in error. What was opened is closed by generator_close. The
// generator is zeroed and lies in the memory of live.
int generator_open(struct generator *generator, const struct config *config, struct live *live,
	volatile const int *n_signals, struct error *error);

// Send, receive, write the record files. A failed write is kept in write_error.
void generator_run(struct generator *generator);

void generator_close(struct generator *generator);

// Write the path of the file name in the output folder into path, which has len bytes.
void generator_path(const struct generator *generator, const char *name, char *path, size_t len);
