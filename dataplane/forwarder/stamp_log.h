#pragma once

// When packets of taut's generator came in and left again: a record at the receipt of each one that
// is chosen and one at its sending, streamed to a file (record_writer.h). Which packets are chosen
// depends on their sequence numbers alone: each hop of a chain chooses the same ones, and one that
// chooses fewer chooses some of these. A packet that this hop drops, or that its port refuses, has
// the first record only. One thread.

#include "arrivals.h"
#include "record_writer.h"
#include "worker_limits.h"

#include <rte_mbuf.h>

#include <stdbool.h>
#include <stdint.h>

struct stamp_log_config {
	const char *path; // NULL: nothing is stamped
	uint64_t every; // packets to one that is chosen, on average; 1: all
	struct record_file_header header; // see record_file_create
	int core; // of the thread that writes; -1: as the calling thread
};

// A packet that is about to be sent, and its place among those of the call.
struct stamp_noted {
	struct stamp_record record;
	uint16_t at;
};

struct stamp_log {
	struct record_writer *writer; // NULL: nothing is stamped
	uint64_t most; // a packet is chosen whose spread number (stamp_log.c) is not above it
	uint64_t n; // records: those kept and those not
	uint64_t not_kept;
	struct arrivals arrivals[PORTS_MAX];
	uint16_t n_noted;
	struct stamp_noted noted[BURST_MAX];
};

// Open the file, take the ring's memory: 32 MiB. Returns 0 or -errno.
int stamp_log_create(struct stamp_log *log, const struct stamp_log_config *config);
void stamp_log_destroy(struct stamp_log *log);

// End the file; not_kept then counts the records that are not in it. Returns 0 or -errno of the
// first failed write.
int stamp_log_close(struct stamp_log *log, uint64_t epoch_tsc, const struct clock_point *last);

// The functions below are hot path, out of line because a log that is off does not call them.
static inline bool stamp_log_is_on(const struct stamp_log *log)
{
	return log->writer != NULL;
}

// A look at a port, begun at or after before_tsc, has just returned n packets of the most that it
// could. Call it for empty looks too.
void stamp_log_looked(struct stamp_log *log, uint16_t port, struct rte_mbuf *const *pkts,
	uint16_t n, uint16_t most, uint64_t before_tsc);

// These are about to be sent: note the chosen ones, since a port frees what it takes. Returns the
// stamp, read last.
uint64_t stamp_log_sending(struct stamp_log *log, struct rte_mbuf *const *pkts, uint16_t n);

// The port took the first n of them.
void stamp_log_sent(struct stamp_log *log, uint16_t n, uint64_t sent_tsc);
