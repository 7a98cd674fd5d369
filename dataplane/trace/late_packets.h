#pragma once

// The packets of a running generator, read from its growing packets.bin: which of them were late or
// lost, and thus which stretches of time are worth keeping.
//
// Records are in the order in which packets came back; a lost packet has its record some deadlines
// after it was sent. So the file may still name a stretch that begins `hold` before its newest
// packet.
//
// A file that is there before may be of an earlier run. What was closed before the trace began, or
// has stamps of the future, as from before the machine was started, counts as not there until
// another run writes over it: each has a first reading of the clock of its own in its header.

#include "error.h"
#include "histogram.h"
#include "pace.h"
#include "record_format.h"
#include "windows.h"

#include <stdbool.h>

// When is a packet late?
struct late_config {
	const char *path; // need not be there yet
	double share; // above this share of all packets so far, recorded or not; 0: above fixed_ns
	uint64_t fixed_ns;
	uint64_t margin_ns; // kept before it was sent and after it came
	uint64_t tsc_hz;
	struct pace *pace; // of whoever reads; may be NULL
};

// Sequence numbers from first to before end; both 0: none.
struct seq_span {
	uint64_t first, end;
};

struct late_packets {
	const struct late_config *config;
	int fd; // -1: the file is not there yet
	uint64_t device, inode, offset; // of what was opened; read so far
	uint64_t run_tsc; // of the header's first reading of the clock: tells one run from another
	struct packet_record *chunk;
	struct histogram *latencies; // ticks, of packets after the warm-up
	uint64_t n_packets; // counted there
	struct seq_span seqs[2]; // of them, by direction
	uint64_t n_all; // those that were too fast to be recorded, too
	size_t at; // the bucket of the percentile when it was last looked up
	uint64_t n_above; // packets in the buckets above it
	uint64_t n_late, n_lost;
	uint64_t n_told_late; // its time had been decided without it
	uint64_t threshold_ticks, margin_ticks, hold_ticks;
	uint64_t n_learnt, n_next; // so many of all make a percentile; the threshold's next look
	uint64_t first_tsc, newest_tsc; // 0: none yet
	uint64_t start_tsc; // nothing was recorded before
	uint64_t decided_tsc; // what is before it can no longer be asked for
	struct windows windows;
};

// start_tsc: nothing before it is worth asking for. Returns 0 or -errno; close it also then.
int late_packets_open(
	struct late_packets *late, const struct late_config *config, uint64_t start_tsc);
void late_packets_close(struct late_packets *late);

// Whether the file has grown since the last late_packets_read.
bool late_packets_has_grown(struct late_packets *late);

// Read all that is there. Returns 0, or -errno with one line in error.
int late_packets_read(struct late_packets *late, struct error *error);

// The time up to which all windows are known.
uint64_t late_packets_passed(const struct late_packets *late);
