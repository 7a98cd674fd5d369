#pragma once

// The result files of a measurement: noise.json, and gaps_N.bin and histogram_N.bin of each core N.

#include "noise.h"

#include <stdbool.h>
#include <stdio.h>

// Print the measurement as one JSON document.
void report_print(FILE *out, const struct noise *noise, bool was_interrupted);

// Write all files to folder; noise.json comes last and whole. Returns 0 or -errno.
int report_write(const struct noise *noise, const char *folder, bool was_interrupted);
