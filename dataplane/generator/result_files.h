#pragma once

// What is written after the run besides packets and gaps.

#include "measurement.h"

#include <stdint.h>

struct generator;

// All non-empty buckets of all series. Returns 0 or -errno.
int histograms_write(const struct measurement *measurements, uint32_t n, const char *path,
	const struct record_file_header *header, const struct clock_point *last);

// generator.json, under a temporary name first, so that a reader finds the whole or nothing; with
// --json on standard output, too. Returns 0 or -errno.
int summary_write(const struct generator *generator);
