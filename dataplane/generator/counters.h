#pragma once

// What is counted, for each direction. The sums that always hold (counters_reconcile):
//   due = sent + unsent
//   sent = matched + lost
//   received = matched + duplicates + orphans + late

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counters {
	uint64_t due; // departures whose time came
	uint64_t sent; // handed to the port
	uint64_t unsent; // due, but refused by the port or never offered to it
	uint64_t abandoned; // of unsent: the run ended with the sender that far behind
	uint64_t received; // frames with our magic
	uint64_t matched; // received once, in time
	uint64_t lost; // sent and not received by the deadline
	uint64_t late; // received after it was counted as lost
	uint64_t duplicates; // received again
	uint64_t orphans; // never sent by this run in this direction
	uint64_t out_of_sequence; // of matched: RFC 4737 Type-P-Reordered
	uint64_t foreign; // frames without our magic; not in received
	uint64_t void_; // of due: says something about the generator (docs/measuring.md)
	uint64_t void_cold; // of void: due during the warm-up
	uint64_t cold; // of due: during the warm-up
	uint64_t unsent_cold; // of unsent: due during the warm-up
	uint64_t lost_cold; // of lost: due during the warm-up
	uint64_t lost_void; // of lost and of void: due after the warm-up
	uint64_t sent_late; // of sent: more than the pacing quantum after due
};

struct counter_name {
	const char *name; // as in generator.json
	size_t offset;
};

extern const struct counter_name counter_names[];
extern const size_t n_counter_names;

uint64_t counters_get(const struct counters *counters, size_t index);
void counters_add(struct counters *to, const struct counters *from);
bool counters_reconcile(const struct counters *counters);
