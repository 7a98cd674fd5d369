#pragma once

// The stages of taut-count: one reads, one counts what each packet says by itself, one what it says
// beside the one before it. Whoever is free takes the next piece (stages.h).

#include "error.h"
#include "packet_counts.h"
#include "packet_reader.h"

// Count all that the reader has, to its end. Returns 0, or as packet_reader_next or
// packet_counts_add, with one line in error.
int count_stages_run(
	struct packet_reader *reader, struct packet_counts *counts, struct error *error);
