#pragma once

// The generator in memory that others can read (record/live_format.h), or in its own. All of it is
// taken and touched before the run. Nothing here is hot path.

#include "error.h"
#include "histogram.h"
#include "live_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct generator;
struct config;

struct live {
	uint8_t *map;
	size_t size;
	int fd; // -1: nothing is published
	char path[4096]; // of the link to it
};

// Take memory for a generator, zeroed, and for its histograms where it is to be published. Returns
// NULL with one line in error.
struct generator *live_create(struct live *live, const struct config *config, struct error *error);

// The histograms of one direction, not cold; NULL: it is to take its own.
struct histogram *live_histograms(struct live *live, uint32_t direction, bool is_void);

// Say where all is and link it as DIR/live. Returns 0 or -errno with one line in error.
int live_publish(struct live *live, const struct generator *generator, struct error *error);

// The run has its start; it has ended.
void live_started(struct live *live, uint64_t epoch_tsc);
void live_ended(struct live *live, uint64_t end_tsc);

// Who has it mapped may still read it.
void live_destroy(struct live *live, struct generator *generator);
