#pragma once

// What the processor's packages take, by RAPL as the kernel's powercap shows it: read before
// packets are sent and after, never between. It is of whole packages, every core and whoever ran
// there: of the generator as much as of the device.

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENERGY_DOMAINS_MAX = 64 };

struct energy_domain {
	char zone[32]; // intel-rapl:0, intel-rapl:0:1; the driver for AMD has this name, too
	char name[32]; // package-0, core, dram: what the kernel calls it
	uint64_t range_uj; // where its counter comes round
	uint64_t uj;
	bool is_known; // of a difference: the counter came round once at most
};

struct energy {
	size_t n; // 0: why_not says why
	struct energy_domain domains[ENERGY_DOMAINS_MAX];
	struct error why_not;
};

// Read all counters, or none. powercap: the folder of intel-rapl:0, ...; NULL: the kernel's.
void energy_take(struct energy *out, const char *powercap);

// What was taken from before to after, which lie elapsed_ns apart.
void energy_between(const struct energy *before, const struct energy *after, uint64_t elapsed_ns,
	struct energy *out);
