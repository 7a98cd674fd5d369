#pragma once

#include "config.h"
#include "eal.h"
#include "worker.h"

// Write the counters of a finished worker as JSON to config->options.stats. Returns 0 or -errno.
int stats_write(const struct config *config, const struct worker *worker, const struct eal *eal,
	uint64_t tsc_hz, uint64_t duration_ticks, const char *stop);
