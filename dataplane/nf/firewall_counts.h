#pragma once

// How many packets each rule of a firewall, and its policy, was the first to fit.

#include "error.h"
#include "json_writer.h"
#include "rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rule_count {
	uint64_t n_packets, n_bytes;
	unsigned long line;
	bool accepts;
};

struct firewall_counts {
	struct rule_count *items; // [0]: the policy; then the rules in order
	size_t n_rules;
};

// Bytes of DPDK's memory that firewall_counts_init takes.
uint64_t firewall_counts_bytes(const struct rules *rules);

// Returns 0 or -errno with one line in error.
int firewall_counts_init(
	struct firewall_counts *out, const struct rules *rules, struct error *error);
void firewall_counts_fini(struct firewall_counts *counts);

// The members "rules" and "policy" of the object that is open.
void firewall_counts_report(const struct firewall_counts *counts, struct json *json);
