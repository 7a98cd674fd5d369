#pragma once

// trace.json: what was recorded, what is missing and what that costs, names, counters.

#include "collector.h"

#include <stdbool.h>

// Write it into the output folder, whole or not at all. Returns 0 or -errno.
int trace_report_write(struct collector *collector, bool was_interrupted);
