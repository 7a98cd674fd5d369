#pragma once

// What the targets of network functions share: DPDK's environment, a function made of texts, and
// bursts whose frames each lie in a buffer of their own, so that a byte read or written beside one
// is found.

#include "fuzz.h"
#include "nf.h"

#include <stdbool.h>

enum {
	FUZZ_BURSTS_MAX = 4,
	FUZZ_PKTS_MAX = 8, // of all bursts
	FUZZ_TSC_HZ = 1000000000,
};

struct fuzz_bursts {
	struct rte_mbuf pkts[FUZZ_PKTS_MAX];
	uint16_t firsts[FUZZ_BURSTS_MAX + 1]; // of each burst, and behind the last
	uint16_t n;
};

// An option that names a file, and what is in it.
struct fuzz_file {
	const char *option, *text;
};

// Make a network function of two ports; its state lies in memory that the sanitizer watches.
// The first call starts DPDK.
void *fuzz_nf_create(
	const struct nf_ops *ops, const char *options, const struct fuzz_file *files, size_t n);

// Cut an input: two bytes and a frame, again and again. The bytes' bits are, from the lowest, 11 of
// the frame's length, 3 of nothing, whether a burst begins, and the port it came from.
void fuzz_bursts_read(struct fuzz_bursts *bursts, const uint8_t *data, size_t len);
void fuzz_bursts_free(struct fuzz_bursts *bursts);

// Process a burst: each packet comes out once, those kept first, in order. verdicts: of each one.
// Returns how many are kept.
uint16_t fuzz_nf_process(const struct nf_ops *ops, void *nf, struct fuzz_bursts *bursts,
	uint16_t burst, uint64_t now_tsc, bool *verdicts);
