#pragma once

// Streams records from the measuring thread to a file without making it wait. The measuring
// thread stores records in a ring in memory; a writer thread empties it. It sleeps until the ring
// should be half full at the rate that was announced or seen (half a second at most where none was
// announced), and writes nothing before it is a quarter full: where both share a core, hardly
// anything but the measurement runs until then, and a run whose records take half a ring is written
// after its end. Else it writes in pieces of less than 0.2 ms, with rests between them (pace.h)
// while the ring has room. Memory is the ring's, whatever the duration. A record that finds the
// ring full is counted as lost: the measuring thread never waits.

#include "record_file.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_writer_config {
	const char *path;
	enum record_kind kind;
	struct record_file_header header; // see record_file_create
	size_t ring_bytes; // rounded down to a power of two of records
	double expected_per_second; // at most: the writer sleeps while as many fit; 0: unknown
	int core; // of the writer thread; -1: as the calling thread
	uint64_t most; // records of the file; 0: no limit
	uint32_t within_ms; // records are in the file after so long, however few; 0: see above
};

// The fields are for the functions below only. The first line is the measuring thread's.
struct record_writer {
	_Alignas(64) uint64_t n_produced; // private copy of head
	uint64_t n_known_free_until; // produced may reach this without looking at tail again
	uint64_t n_lost;
	uint64_t n_beyond; // not kept because they would be more than most; not among n_lost
	uint64_t most;
	uint8_t *ring;
	uint64_t mask;
	uint32_t record_size;
	bool is_stalled; // the ring was full, and had no room since

	_Alignas(64) _Atomic uint64_t head; // release by record_writer_publish, acquire by drain()
	_Alignas(64) _Atomic uint64_t tail; // release by drain(), acquire by record_writer_slot
	_Atomic int error; // -errno of the writer thread; release there, acquire in _error()
	_Atomic uint64_t n_stalls; // times the ring was full
	struct record_writer_thread *thread;
};

// Open the file, take and touch the ring, start the thread. Returns 0 or -errno.
int record_writer_create(const struct record_writer_config *config, struct record_writer **out);

// Set the run's start in the header, which often is known only after the file is open. Call it
// before record_writer_close.
void record_writer_set_epoch(struct record_writer *writer, uint64_t epoch_tsc);

// Write what is left, rewrite the header, stop the thread, free. Returns 0 or -errno of the first
// failed write. The counters are stored in *n_written and *n_lost (both may be NULL).
int record_writer_close(struct record_writer *writer, const struct clock_point *last,
	uint64_t *n_written, uint64_t *n_lost);

// Close the writer of a log, which has offered it n records: the epoch is set, *writer becomes
// NULL, *n_missing counts the records that are not in the file. All stays as it is where *writer is
// NULL. Returns 0 or -errno of the first failed write.
int record_writer_end_log(struct record_writer **writer, uint64_t n, uint64_t epoch_tsc,
	const struct clock_point *last, uint64_t *n_missing);

// Hot path: where the ring looks full, ask the writer thread's index once more.
bool record_writer_has_room(struct record_writer *writer);

// After the run, before record_writer_slot: write the ring out where it looks full. The writer
// thread has ended then.
void record_writer_make_room(struct record_writer *writer);

// Hot path: the place for the next record, or NULL when the ring is full (then it is counted as
// lost) or the file has all it is to have. The record belongs to the caller until
// record_writer_publish.
static inline void *record_writer_slot(struct record_writer *writer)
{
	if (__builtin_expect(writer->n_produced == writer->n_known_free_until, 0) &&
		!record_writer_has_room(writer)) {
		if (writer->n_produced == writer->most)
			writer->n_beyond++;
		else
			writer->n_lost++;
		return NULL;
	}
	return writer->ring + (writer->n_produced++ & writer->mask) * writer->record_size;
}

// Hot path: hand over all slots filled since the last call; once a loop iteration is enough.
static inline void record_writer_publish(struct record_writer *writer)
{
	// Pairs with the acquire load of head in drain().
	atomic_store_explicit(&writer->head, writer->n_produced, memory_order_release);
}

// 0, or -errno of the write that failed: the run should stop.
static inline int record_writer_error(const struct record_writer *writer)
{
	return atomic_load_explicit(&writer->error, memory_order_acquire);
}

// Times the ring was found full.
static inline uint64_t record_writer_stalls(const struct record_writer *writer)
{
	return atomic_load_explicit(&writer->n_stalls, memory_order_relaxed);
}
