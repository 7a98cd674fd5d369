#pragma once

// The binary files the data plane writes and python/taut/records reads. Little endian, one
// 128-byte header, then records of one kind. Python's side is records/layout.py; the seam test
// (tests/seam) compares both with what taut-layout prints. Change a struct: raise its version.

#include "clock_point.h"

#include <assert.h>
#include <stdint.h>

#define RECORD_MAGIC "TAUTREC"

enum record_version {
	RECORD_VERSION = 4,
};

enum record_kind {
	RECORD_PACKET = 1,
	RECORD_GAP = 2,
	RECORD_EVENT = 3,
	RECORD_HISTOGRAM = 4,
	RECORD_FRAME = 5,
	RECORD_INJECTION = 6,
	RECORD_TIME_COUNT = 7,
	RECORD_PACKET_BLOCK = 8,
	RECORD_STAMP = 9,
};

// Written when the file is opened, again with last and n_records when it is closed. A header
// with n_records = 0 and records behind it is a file whose writer died: count by size.
struct record_file_header {
	char magic[8]; // RECORD_MAGIC
	uint16_t version;
	uint16_t kind; // enum record_kind
	uint32_t record_size;
	uint32_t run_id;
	uint32_t n_flows; // packets of one flow are n_flows sequence numbers apart
	uint64_t epoch_tsc; // the run's start: time 0 of due, sent and received
	uint64_t nominal_tsc_hz; // the fit from first to last is what counts
	struct clock_point first;
	struct clock_point last;
	uint64_t n_records;
	char thread[16]; // who wrote it: "generator", "forwarder"
	uint8_t reserved[16];
};

enum packet_flag {
	PACKET_VOID = 1 << 0, // the generator held it up, or may have: docs/measuring.md
	PACKET_UNSENT = 1 << 1, // due, but the transmit call refused it: sent_tsc = 0
	PACKET_LATE = 1 << 2, // received after its deadline: one more record, sent_tsc = 0
	PACKET_DUPLICATE = 1 << 3, // received again: one more record
	PACKET_OUT_OF_SEQUENCE = 1 << 4, // RFC 4737 Type-P-Reordered
	PACKET_HW_STAMPED = 1 << 5,
	PACKET_COLD = 1 << 6, // due during the declared warm-up
	// received, never sent by this run: one more record, due_tsc = sent_tsc = 0
	PACKET_ORPHAN = 1 << 7,
	// Captures only (docs/matching.md): such a frame is neither sent nor received as a packet.
	// Its record has sent_tsc (an ingress frame) or received_tsc (an egress frame), never both.
	PACKET_AMBIGUOUS = 1 << 8,
	PACKET_TRUNCATED = 1 << 9,
};

// One packet. Times are raw TSC; received_tsc = 0 means never received.
struct packet_record {
	uint64_t seq; // counts from 0 in each direction
	uint64_t due_tsc;
	uint64_t sent_tsc;
	uint64_t received_tsc;
	uint32_t arrival_window; // ticks since it can have been in that port, saturating
	uint32_t flow;
	uint16_t frame_len; // Ethernet frame with its 4-byte FCS, as RFC 2544 counts
	uint16_t flags; // enum packet_flag
	uint8_t direction; // 0: tx port to rx port, 1: the other way
	uint8_t reserved[3];
};

// One iteration of a polling loop that took longer than the threshold.
struct gap_record {
	uint64_t start_tsc;
	uint64_t end_tsc;
	uint32_t thread; // enum gap_thread
	uint32_t n_packets; // handled in that iteration: tells work from stolen time
};

enum gap_thread {
	GAP_GENERATOR = 0,
	GAP_FORWARDER = 1,
	GAP_NOISE = 2,
};

// A packet of taut's generator at a forwarder: when its receive call was over, or its send call
// began.
struct stamp_record {
	uint64_t tsc;
	uint64_t seq; // as the packet's own record has it, and direction and run_id
	uint32_t run_id;
	uint32_t window; // received: ticks since a look that did not find it, saturating; sent: 0
	uint8_t direction;
	uint8_t event; // enum stamp_event
	uint8_t reserved[6];
};

enum stamp_event {
	STAMP_RECEIVED = 0,
	STAMP_SENT = 1,
};

// One event of the kernel, or a span in which events were lost or not kept.
struct event_record {
	uint64_t tsc;
	uint32_t thread; // that ran when it happened; of a sending (CALL_QUEUE, IPI_SEND_FOR) that
			 // was not its own doing: SENT_BY_INTERRUPT or SENT_BY_SOFTIRQ
	uint16_t cpu; // where it happened
	uint16_t kind; // enum event_kind
	uint64_t
		args[2]; // by kind, below; addresses have their names in trace.json beside the file
};

enum sent_by {
	SENT_BY_INTERRUPT = -1,
	SENT_BY_SOFTIRQ = -2,
};

// After each kind: args[0], args[1]. An ENTRY has its EXIT on the same CPU, unless events were
// lost.
enum event_kind {
	EVENT_IRQ_ENTRY = 1, // irq
	EVENT_IRQ_EXIT = 2, // irq
	EVENT_VECTOR_ENTRY = 3, // enum event_vector, vector
	EVENT_VECTOR_EXIT = 4, // enum event_vector, vector
	EVENT_SOFTIRQ_ENTRY = 5, // vec
	EVENT_SOFTIRQ_EXIT = 6, // vec
	EVENT_TIMER_ENTRY = 7, // function, timer: hrtimer or wheel timer
	EVENT_TIMER_EXIT = 8, // 0, timer
	EVENT_CALL_QUEUE = 9, // csd, function; the sender's cpu and thread (csd_queue_cpu)
	EVENT_CALL_ENTRY = 10, // csd, function: what a function-call IPI runs (csd_function_entry)
	EVENT_CALL_EXIT = 11, // csd, function
	EVENT_IPI_SEND = 12, // of older collectors: target cpu, callsite; what for was not recorded
	EVENT_TLB_FLUSH = 13, // reason (1: remote shootdown), pages
	EVENT_SWITCH = 14, // previous thread | its state << 32, next thread | its priority << 32
	EVENT_WAKEUP = 15, // thread woken, cpu it shall run on | its priority << 32
	EVENT_WORK_ENTRY = 16, // function, work
	EVENT_WORK_EXIT = 17, // function, work
	EVENT_PAGE_FAULT = 18, // address, instruction; watched threads only
	EVENT_SYSCALL_ENTRY = 19, // number; watched threads only
	EVENT_SYSCALL_EXIT = 20, // number, result
	EVENT_NMI = 21, // handler, duration in ns; stamped at its end
	EVENT_MACHINE_CHECK = 22,
	EVENT_IDLE = 23, // state; UINT32_MAX: back from idle
	EVENT_FREQUENCY = 24, // kHz
	EVENT_TICK_STOP = 25, // success, dependency
	EVENT_LOST = 26, // how many, until which tsc: from tsc on
	EVENT_SKIPPED = 27, // how many, until which tsc: of all CPUs, not kept because no packet
			    // was late
	EVENT_NAPI_POLL = 28, // packets handled | the most it may << 32, NAPI; stamped at its end
	// target cpu (of a mask, the first) | callsite << 32, callback: what the target is to run,
	// 0: nothing, a reschedule interrupt. The upper half of a callsite is all ones: the text of
	// an x86-64 kernel and of its modules is in the last 2 GB (its arch/x86/x86_64/mm.rst).
	EVENT_IPI_SEND_FOR = 29,
	N_EVENT_KINDS,
};

enum event_vector {
	VECTOR_LOCAL_TIMER = 0,
	VECTOR_RESCHEDULE = 1,
	VECTOR_CALL_FUNCTION = 2,
	VECTOR_CALL_FUNCTION_SINGLE = 3,
	VECTOR_IRQ_WORK = 4,
	VECTOR_THERMAL = 5,
	VECTOR_THRESHOLD = 6,
	VECTOR_DEFERRED_ERROR = 7,
	VECTOR_ERROR = 8,
	VECTOR_SPURIOUS = 9,
	VECTOR_PLATFORM = 10,
};

// One disturbance taut made on purpose (taut inject): what was sent, not what was felt.
struct injection_record {
	uint64_t start_tsc;
	uint64_t end_tsc;
	uint32_t cause; // index into inject/cause_table.c; inject.json lists the names
	uint32_t thread; // that made it
	uint64_t arg; // by cause: pages, a pid
};

// One bucket of one series. Buckets of width_ticks 1 are exact.
struct histogram_record {
	int64_t value_ticks; // lowest value of the bucket; below 0 only in captures
	uint64_t width_ticks;
	uint64_t count;
	uint16_t series; // enum histogram_series
	uint8_t is_void;
	uint8_t is_cold;
	uint8_t direction;
	uint8_t reserved[3];
};

// How often packets sent in one step of time took so long (taut-count). Not in ticks: the steps are
// of nanoseconds.
struct time_count_record {
	int64_t start_ns; // of the step
	int64_t value_ns; // the leading bits of the latency; the others are 0
	uint64_t n;
	uint8_t direction;
	uint8_t is_void;
	uint8_t reserved[6];
};

// Packets by column, their times in nanoseconds: how taut-count and Python hand them to each other.
enum {
	PACKET_BLOCK_SIZE = 1 << 12,
};

struct packet_block {
	uint64_t n; // packets, at least one; behind them a column means nothing
	uint64_t seq[PACKET_BLOCK_SIZE];
	int64_t due_ns[PACKET_BLOCK_SIZE]; // since the epoch, as the other two; INT64_MIN: never
	int64_t sent_ns[PACKET_BLOCK_SIZE];
	int64_t received_ns[PACKET_BLOCK_SIZE];
	int64_t arrival_window_ns[PACKET_BLOCK_SIZE];
	uint16_t flags[PACKET_BLOCK_SIZE]; // enum packet_flag
	uint8_t direction[PACKET_BLOCK_SIZE];
};

enum histogram_series {
	SERIES_SERVICE = 0, // received - sent
	SERIES_INTENT = 1, // received - due
	SERIES_JITTER = 2, // |IPDV|: |difference of successive latencies| in a flow
	SERIES_DEPARTURE_ERROR = 3, // sent - due
	SERIES_INTER_DEPARTURE = 4, // sent - previous sent
	SERIES_ARRIVAL_WINDOW = 5,
	N_GENERATOR_SERIES, // the generator counts those above, captures have others as well
	SERIES_IPDV = 6, // signed difference of successive latencies
	SERIES_INTER_ARRIVAL = 7, // received - received before it
	SERIES_POLL_PERIOD = 8, // of taut-noise: between two readings of the clock
	N_SERIES,
};

// One frame of a capture (docs/matching.md), for the engines and for the search by content. Bytes
// of the frame follow: its key or its head, whichever the file was written for. How many follow is
// record_size of the file's header minus sizeof(struct frame_record), the same for every record.
struct frame_record {
	uint64_t pos; // counts from 0 in the file
	int64_t ts_ns;
	int64_t clock_ns; // greatest ts_ns up to here
	uint32_t wire_len;
	uint32_t cap_len;
	uint16_t n_bytes; // of the bytes that follow: those that are the frame's; others are 0
	uint16_t flags; // enum frame_flag
	uint32_t reserved;
};

enum frame_flag {
	FRAME_TRUNCATED = 1 << 0, // no key
};

static_assert(sizeof(struct clock_point) == 24, "part of record_file_header");
static_assert(sizeof(struct record_file_header) == 128, "read by records/layout.py");
static_assert(sizeof(struct packet_record) == 48, "read by records/layout.py");
static_assert(sizeof(struct gap_record) == 24, "read by records/layout.py");
static_assert(sizeof(struct stamp_record) == 32, "read by records/layout.py");
static_assert(sizeof(struct event_record) == 32, "read by records/layout.py");
static_assert(sizeof(struct injection_record) == 32, "read by records/layout.py");
static_assert(sizeof(struct histogram_record) == 32, "read by records/layout.py");
static_assert(sizeof(struct time_count_record) == 32, "read by records/layout.py");
static_assert(
	sizeof(struct packet_block) == 8 + 43 * PACKET_BLOCK_SIZE, "read by records/layout.py");
static_assert(sizeof(struct frame_record) == 40, "read by records/layout.py");
