#pragma once

// Arms tracing, waits, and streams what came into events.bin: all of it, or the surroundings of
// late packets only (tail.h). The kernel's buffers are read when one of them is half full, and
// whenever the followed file grew: not at all before the end where the buffer holds the whole
// trace. Where the process has to run on a watched core it reads in small pieces (pace.h). Memory
// is one page for each CPU and the names, and what tail.h may take, whatever the duration.
//
// events.bin is written directly and not through record_writer: that one never makes its caller
// wait and drops what does not fit; here the caller may wait, and the kernel's buffer holds what
// comes meanwhile.

#include "decode.h"
#include "error.h"
#include "instance.h"
#include "merge.h"
#include "pace.h"
#include "record_file.h"
#include "stream.h"
#include "tail.h"
#include "throttling.h"
#include "trace_clock.h"

#include <signal.h>

enum {
	TRACE_THREADS_MAX = 256,
	TRACE_BATCH = 1 << 9, // records a write: 16 KiB, well below a piece (pace.h)
};

struct trace_config {
	cpu_set_t cores;
	uint32_t threads[TRACE_THREADS_MAX]; // ascending
	size_t n_threads;
	uint64_t duration_ns; // 0: until stopped
	uint64_t buffer_bytes;
	bool is_on_watched_core; // there is no other: reading takes time from who is watched
	bool is_tail;
	const char *over; // as it was asked for
	struct tail_config tail; // tsc_hz and cores are the collector's
	bool wants_mono_raw; // though x86-tsc may be there
	uint32_t groups; // bits of enum event_group
	const char *root; // of tracefs
	const char *out; // folder
	volatile const int *stop; // not zero: end
	sigset_t wait_mask; // while waiting; the signals that set stop are blocked otherwise
};

// What became of a row of event_rows.
enum row_state {
	ROW_OFF = 0, // not asked for
	ROW_ON,
	ROW_ABSENT, // this kernel has no such event
	ROW_CHANGED, // it has, with other fields
	ROW_REFUSED,
	ROW_FILTER_TOO_LONG, // of threads or cores that do not lie side by side
	ROW_NO_THREAD, // it is recorded of watched threads only, and none was named
};

struct collector {
	const struct trace_config *config;
	struct trace_clock clock;
	struct clock_point points[CLOCK_POINTS]; // at the start
	struct clock_point last;
	uint64_t tsc_hz;
	struct instance *core, *all; // for the watched cores; for initiators on every CPU
	enum row_state rows[DECODER_EVENTS_MAX];
	struct trace_names names;
	struct decoder *decoder;
	struct trace_page_layout layout;
	struct stream *streams; // of core first
	size_t n_streams, n_core_streams;
	struct merge *merge;
	struct tail_config tail_config;
	struct tail tail;
	struct record_file file;
	struct event_record *batch;
	size_t n_batch;
	uint64_t last_tsc; // written
	uint64_t n_out_of_order;
	uint64_t armed_tsc, stopped_tsc;
	struct pace pace;
	uint64_t n_drains;
	uint64_t n_pages_live; // read before the end
	size_t n_threads_asked; // names of threads that /proc was asked for
	struct throttling *throttling;
	char *before_text, *after_text; // counters, JSON
};

// Make the instances, open events.bin, switch events on and begin. Returns 0 or -errno with one
// line in error; close it also then.
int collector_open(
	struct collector *collector, const struct trace_config *config, struct error *error);

// Collect until the duration is over or it is stopped; then read what is left. Returns 0 or -errno
// with one line in error.
int collector_run(struct collector *collector, struct error *error);

// Remove the instances, finish events.bin, free. Returns 0 or -errno of the file.
int collector_close(struct collector *collector);
