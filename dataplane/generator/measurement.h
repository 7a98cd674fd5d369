#pragma once

// What became of each packet of one direction: counters, histograms, one record. The sender says
// what it sent, the receiver what came; everything else follows here. One thread.

#include "backlog.h"
#include "counters.h"
#include "gap_watch.h"
#include "histogram.h"
#include "in_flight.h"
#include "record_writer.h"
#include "tail_threshold.h"

#include <stdbool.h>
#include <stdint.h>

enum record_mode {
	RECORD_MODE_ALL,
	RECORD_MODE_TAIL, // what is void, missing or odd, and about the slowest 1 %
	RECORD_MODE_NONE,
};

struct flow_state {
	uint64_t next_expected; // RFC 4737's NextExp
	uint64_t last_latency_ticks;
	struct backlog_flow backlog;
	uint8_t has_last, last_void, last_cold;
};

struct measurement {
	_Alignas(64) struct counters counters;
	// [cold][void] sets of N_GENERATOR_SERIES. The cold sets exist only with a warm-up.
	struct histogram *histograms[2][2];
	struct tail_threshold tail;
	uint16_t odd_flags; // in RECORD_MODE_TAIL recorded however fast the packet was
	const struct gap_watch *gaps;
	bool device_holds; // packets until more come
	bool has_own_histograms;
	uint64_t void_sent_tsc; // the latest departure that a gap delayed; 0: none was
	struct record_writer *writer; // NULL: RECORD_MODE_NONE
	enum record_mode mode; // RECORD_MODE_NONE until it begins
	enum record_mode mode_asked;
	uint8_t direction;
	uint32_t n_flows;
	struct flow_state *flows;
	struct in_flight in_flight;
	struct backlog backlog;
	uint64_t last_sent_tsc;
	uint64_t before_sent_tsc; // of the packet before; 0: none, or it was refused
	uint64_t quantum_ticks; // sent later than this after due is sent_late
	uint64_t deadline_ticks; // what comes back later than this after it was sent is lost
	uint64_t overdue_tsc; // none is overdue before; UINT64_MAX: the ring tells soon enough
	uint64_t overdue_seq; // what was sent before it is concluded, or left to the ring
};

struct measurement_config {
	uint8_t direction;
	uint32_t n_flows;
	struct in_flight_size in_flight;
	bool has_warm_up;
	uint64_t quantum_ticks;
	uint64_t deadline_ticks;
	enum record_mode mode;
	uint64_t tail_one_in; // RECORD_MODE_TAIL; 0: 100
	bool tail_is_slow_only; // likewise: what is void is recorded only where it is slow
	struct record_writer *writer;
	const struct gap_watch *gaps;
	bool device_holds;
	struct histogram *histograms[2]; // by void, not cold; zeroed; NULL: it takes its own
};

// Returns 0 or -errno; on failure nothing stays allocated. Does not own writer and gaps.
int measurement_init(struct measurement *measurement, const struct measurement_config *config);
void measurement_fini(struct measurement *measurement);

// Count and record from here on; what came before, which others sent, leaves neither.
void measurement_begin(struct measurement *measurement);

// One departure, as the sender knows it.
struct sent_packet {
	uint64_t due_tsc;
	uint64_t sent_tsc; // 0: the port refused it
	uint32_t flow;
	uint16_t frame_len;
	uint8_t flags; // enum in_flight_flag; IN_FLIGHT_VOID: late, out of the backlog of a gap
};

// Hot path: the packet with the next sequence number was offered to the port.
void measurement_sent(struct measurement *measurement, const struct sent_packet *packet);

// One arrival, as the receiver knows it.
struct received_packet {
	uint64_t seq;
	uint64_t due_tsc; // by the probe; for packets that are no longer known
	uint64_t received_tsc;
	uint32_t arrival_window;
	uint32_t flow;
	uint16_t frame_len;
	bool is_ours; // run id and direction agree
};

// Hot path: a frame with our magic arrived.
void measurement_received(struct measurement *measurement, const struct received_packet *packet);

// Hot path, out of line because it is rare: see measurement_seen.
void measurement_conclude_overdue(struct measurement *measurement, uint64_t seen_tsc);

// Hot path, after each poll: all that came to the port before seen_tsc was received. What should
// have by then is lost. At high rates the ring tells it within a few deadlines, and nothing but
// this comparison is done: all that is sent would be looked at once more, when it is in no cache.
static inline void measurement_seen(struct measurement *measurement, uint64_t seen_tsc)
{
	if (__builtin_expect(seen_tsc > measurement->overdue_tsc, 0))
		measurement_conclude_overdue(measurement, seen_tsc);
}

// After the run, in which packets were received until end_tsc: what is still in flight is lost, and
// void where its deadline had not passed: nobody waited for it.
void measurement_finish(struct measurement *measurement, uint64_t end_tsc);

static inline uint64_t measurement_n_in_flight(const struct measurement *measurement)
{
	return measurement->counters.sent - measurement->counters.matched -
	       measurement->counters.lost;
}
