#pragma once

// What a measurement leaves: noise.json, and of each core gaps_N.bin and histogram_N.bin.

#include "noise.h"

#include <stdbool.h>
#include <stdio.h>

// Print it as one JSON document.
void report_print(FILE *out, const struct noise *noise, bool was_interrupted);

// Write all files to folder; noise.json comes last and whole. Returns 0 or -errno.
int report_write(const struct noise *noise, const char *folder, bool was_interrupted);
