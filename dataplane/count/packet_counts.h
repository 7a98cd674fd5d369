#pragma once

// One pass over the records of a trial: the exact counts that every metric of analysis/metrics.py
// starts from, those by time, and the slowest packets.

#include "late_packets.h"
#include "packet_reader.h"
#include "time_counts.h"
#include "value_counts.h"
#include "worst_packets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What became of the packets, each beside its name in the document.
enum packet_counter {
	COUNT_DUE,
	COUNT_SENT,
	COUNT_UNSENT,
	COUNT_MATCHED,
	COUNT_LOST,
	COUNT_VOID,
	COUNT_VOID_MATCHED,
	COUNT_OUT_OF_SEQUENCE,
	N_PACKET_COUNTERS,
};

enum extra_counter {
	COUNT_LATE,
	COUNT_DUPLICATES,
	COUNT_ORPHANS,
	N_EXTRA_COUNTERS,
};

// Records of one direction, of the warm-up or not.
struct group_counts {
	uint64_t n_extra; // records beyond each packet's own one
	uint64_t packets[N_PACKET_COUNTERS];
	uint64_t extra[N_EXTRA_COUNTERS];
};

struct packet_counts_config {
	uint64_t n_flows; // a packet's flow has the number n_flows before it
	uint64_t n_worst;
	time_counts_give *give_times; // what by_time gives away
	void *context;
	struct late_packets *late; // NULL: none are noted
};

struct packet_counts;

// Returns 0 or -ENOMEM.
int packet_counts_create(const struct packet_counts_config *config, struct packet_counts **out);
void packet_counts_destroy(struct packet_counts *counts);

// Count what each packet says by itself, and beside the one before it: every batch goes through
// both, in the same order; one thread may be in either at the same time. Returns 0, or -errno with
// one line in error: -ERANGE for records that one pass cannot count, as those that are further out
// of order than a generator writes them, or damaged ones.
int packet_counts_add(
	struct packet_counts *counts, const struct packet_batch *batch, struct error *error);
int packet_counts_add_in_turn(
	struct packet_counts *counts, const struct packet_batch *batch, struct error *error);

// End the counting, but that by time. Returns as packet_counts_add.
int packet_counts_end(struct packet_counts *counts, struct error *error);

// What was found, after the end. A distribution without values is NULL.
const struct group_counts *packet_counts_group(
	const struct packet_counts *counts, uint8_t direction, bool is_cold);
const struct value_counts *packet_counts_values(const struct packet_counts *counts,
	enum histogram_series series, uint8_t direction, bool is_void, bool is_cold);
struct time_counts *packet_counts_by_time(const struct packet_counts *counts);
struct worst_packets *packet_counts_worst(const struct packet_counts *counts);

// Why one pass cannot take a record; NULL: it can. Packets only: extra records have no order.
const char *packet_refusal(const struct packet *packet);

// Records with such a flag are no packet's own one.
enum {
	EXTRA_FLAGS = PACKET_LATE | PACKET_DUPLICATE | PACKET_ORPHAN | PACKET_AMBIGUOUS |
		      PACKET_TRUNCATED,
};
