#pragma once

// Which events are switched on, and with what filters.

#include "collector.h"
#include "error.h"

// Switch on the events that were asked for and exist; the collector's rows say what became of each.
// The instances must exist already. Returns 0 or -errno with one line in error.
int arm_events(struct collector *collector, struct error *error);

// Why a row is not recorded; NULL: it is, or was not asked for.
const char *arm_why_missing(enum row_state state);
