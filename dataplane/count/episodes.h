#pragma once

// Episodes, as analysis/episode.py defines them: packets in a row, in one direction, that were
// late, lost or refused, at least one of them late.

#include "seq_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EPISODES_WORST = 50 }; // listed one by one

struct episode {
	uint8_t direction;
	bool has_due;
	int64_t due_ns, start_ns; // of its first packet
	int64_t end_ns; // the last receipt
	int64_t duration_ns, depth_ns;
	uint64_t first_seq;
	uint64_t packets, late, lost, unsent, void_packets;
};

struct episode_totals {
	uint64_t n, packets, lost, unsent;
	uint64_t touched_by_void, all_void;
	int64_t longest_ns, deepest_ns;
	uint64_t loss_bursts, longest_loss_burst; // losses in a row of which no packet is late
	bool is_any; // of episodes and bursts: without one, longest and deepest mean nothing
};

struct episodes;

// Packets that took longer than late_above_ns are late. Returns 0 or -ENOMEM.
int episodes_create(int64_t late_above_ns, struct episodes **out);
void episodes_destroy(struct episodes *episodes);

// The next packet of a direction (0 or 1), numbers ascending; cold ones are left out. Returns 0, or
// -ERANGE where a length does not fit 64 bits.
int episodes_add(struct episodes *episodes, uint8_t direction, const struct seq_packet *packet);

// End the last ones. Returns 0 or -ERANGE.
int episodes_end(struct episodes *episodes);

const struct episode_totals *episodes_totals(const struct episodes *episodes);

// Longest first, of equal ones the first. Returns how many.
size_t episodes_worst(const struct episodes *episodes, const struct episode **worst);
