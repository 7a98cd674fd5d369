#pragma once

// Iterations of a polling loop that took longer than the work in them explains: time stolen by
// the kernel, the hypervisor or the firmware. Forwarder and generator stream theirs to a file while
// they run, all of them however long that is; each core of taut-noise and taut-inject keeps the
// first ones in memory, written after the run. Memory is taken and touched before it.

#include "json_writer.h"
#include "record_writer.h"

#include <stddef.h>
#include <stdint.h>

struct gap_log_config {
	uint64_t threshold_ticks; // an empty iteration longer than this is a gap
	uint64_t per_packet_ticks; // each packet handled may take this much more
	uint32_t thread; // enum gap_thread
	size_t capacity; // in memory; gaps beyond it are counted, not kept
	// Of a log that is streamed.
	const char *path; // NULL: in memory
	struct record_file_header header; // see record_file_create
	int core; // of the thread that writes; -1: as the calling thread
	uint64_t most; // in the file; more are counted; 0: no limit
};

struct gap_log {
	uint64_t threshold_ticks, per_packet_ticks;
	uint64_t n; // all gaps: those kept and those not
	uint64_t not_logged;
	uint64_t total_ticks, max_ticks;
	uint64_t work_packets, work_ticks; // of iterations with packets that were no gap
	struct record_writer *writer; // NULL: in memory
	struct gap_record *records; // in memory; NULL: streamed
	size_t capacity;
	uint32_t thread;
};

// Open the file of a log that is streamed, or take its memory. Returns 0 or -errno.
int gap_log_create(struct gap_log *log, const struct gap_log_config *config);
void gap_log_destroy(struct gap_log *log);

// Write what was kept in memory as a RECORD_GAP file. Returns 0 or -errno.
int gap_log_write(const struct gap_log *log, const char *path,
	const struct record_file_header *header, const struct clock_point *last);

// End the file of a log that is streamed; not_logged then counts the gaps that are not in it.
// Returns 0 or -errno of the first failed write.
int gap_log_close(struct gap_log *log, uint64_t epoch_tsc, const struct clock_point *last);

// Hot path, out of line because it is rare: log one gap.
void gap_log_add(struct gap_log *log, uint64_t start_tsc, uint64_t end_tsc, uint32_t n_packets);

// Its counters as members of the object that is open, as both programs that forward or send have
// them: what it counts, in nanoseconds, and what makes a gap.
void gap_log_print(const struct gap_log *log, struct json *json, uint64_t threshold_ns,
	uint64_t per_packet_ns, uint64_t tsc_hz);

static inline size_t gap_log_kept(const struct gap_log *log)
{
	return log->n - log->not_logged;
}

// Hot path: one iteration lasted from start to end and handled n_packets. Returns 1 for a gap.
static inline int gap_log_check(
	struct gap_log *log, uint64_t start_tsc, uint64_t end_tsc, uint32_t n_packets)
{
	uint64_t allowed = log->threshold_ticks + n_packets * log->per_packet_ticks;
	uint64_t ticks = end_tsc - start_tsc;

	if (__builtin_expect(ticks <= allowed, 1)) {
		if (n_packets > 0) { // an iteration without packets does not touch these
			log->work_packets += n_packets;
			log->work_ticks += ticks;
		}
		return 0;
	}
	gap_log_add(log, start_tsc, end_tsc, n_packets);
	return 1;
}
