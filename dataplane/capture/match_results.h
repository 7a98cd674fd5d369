#pragma once

// The results of matching: exact distributions (histograms.bin), a record of each packet
// (packets.bin) and the lower envelope of the latency. record_format.h defines both files.

#include "arrival_order.h"
#include "exact_counts.h"
#include "match.h"
#include "record_file.h"

#include <stdbool.h>
#include <stdint.h>

enum { ENVELOPE_BINS = 4096 };

enum capture_series {
	CAPTURE_LATENCY,
	CAPTURE_JITTER,
	CAPTURE_IPDV,
	CAPTURE_INTER_DEPARTURE,
	CAPTURE_INTER_ARRIVAL,
	N_CAPTURE_SERIES,
};

// The smallest latency of each stretch of ingress time.
struct envelope {
	int64_t width_ns; // of a bin; doubles when the bins do not suffice
	uint32_t n; // bins up to the last one used
	uint32_t bin; // of the packet before, and where it begins: packets mostly share it
	uint64_t bin_ns;
	struct {
		int64_t least_ns, at_ns; // at: of that packet, from the first ingress time stamp
		uint64_t n; // packets in the bin; 0: the others mean nothing
	} bins[ENVELOPE_BINS];
};

struct match_results {
	const char *folder;
	int64_t skip_ns;
	int64_t first_ingress_ns, first_egress_ns; // time stamps of the sides' first frames

	struct exact_counts series[2][N_CAPTURE_SERIES]; // [cold]
	struct envelope envelope;
	uint64_t n_cold_matched;

	struct {
		uint64_t pos;
		int64_t ts_ns, latency_ns;
		bool is_any, is_matched, is_cold;
	} previous; // of the ingress frames that are packets
	struct arrival_order arrivals;
	struct arrival previous_arrival;
	bool has_arrival;

	bool wants_packets;
	struct record_file packets; // opened with the first record: its header has the epoch
	struct packet_record *records;
	size_t n_records;
	int error; // -errno of what failed first
};

// folder must outlive the results. Returns 0 or -errno.
int match_results_init(
	struct match_results *results, const char *folder, int64_t skip_ns, bool wants_packets);

// Hot path: count and record what match_take gave, in its order.
void match_results_take(struct match_results *results, const struct match_result *given, size_t n);

// After match_end: write what is left and the distributions. Returns 0 or the first -errno.
int match_results_finish(struct match_results *results);
void match_results_fini(struct match_results *results);
