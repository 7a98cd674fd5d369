#pragma once

// Sends what the schedule says, when it says so: frames are built ahead, so that at a departure
// only the clock is read and the port called. Never waits for the port: what it refuses is unsent.

#include "gap_watch.h"
#include "measurement.h"
#include "pacing.h"
#include "port.h"
#include "probe.h"
#include "traffic.h"

#include <rte_mbuf.h>

#include <stdbool.h>
#include <stdint.h>

enum {
	SENDER_READY = 64, // frames built ahead: a power of two
	SENDER_BURST = 32,
};

struct sender_config {
	struct port *port;
	struct rte_mempool *pool;
	struct traffic *traffic;
	struct measurement *measurement;
	struct gap_watch *gaps;
	uint8_t direction;
	uint32_t run_id;
	uint32_t n_destinations; // 0: the peer's address alone
	uint64_t tsc_hz;
	uint64_t quantum_ticks;
	uint64_t warm_up_ns;
	uint64_t duration_ns; // after the warm-up; UINT64_MAX: until count
	uint64_t count; // packets after the warm-up; UINT64_MAX: until duration
};

// A frame that waits for its time.
struct ready_frame {
	uint64_t due_tsc;
	uint64_t gap_ticks;
	uint32_t flow;
	uint16_t frame_len;
	uint8_t flags; // enum in_flight_flag
};

struct sender {
	_Alignas(64) uint64_t next_tsc; // when the first ready frame may leave; UINT64_MAX: none
	struct port *port;
	struct measurement *measurement;
	struct gap_watch *gaps;
	struct pacing pacing;
	uint64_t seen_gap_end_tsc;
	bool has_backlog; // left by a gap and not yet worked off
	uint32_t head, n_ready; // of the ring below

	struct traffic *traffic;
	struct rte_mempool *pool;
	uint64_t epoch_tsc;
	uint64_t ticks_per_ns_q50;
	uint64_t built_ns; // due of the frame built last, since the epoch
	uint64_t built_ticks;
	uint64_t next_seq; // of the next frame to build
	uint64_t warm_up_ns, end_ns;
	uint64_t n_left; // frames still to build after the warm-up
	bool is_complete; // the schedule has no further departure
	uint32_t run_id;
	uint32_t n_destinations, next_destination;
	uint8_t direction;
	uint32_t n_templates; // one for each frame size
	uint16_t template_lens[TRAFFIC_MAX_SIZES];
	struct probe_template templates[TRAFFIC_MAX_SIZES];

	struct rte_mbuf *mbufs[SENDER_READY];
	struct ready_frame ready[SENDER_READY];
};

void sender_init(struct sender *sender, const struct sender_config *config);

// Set the run's start and build the first frames. Before the loop.
void sender_start(struct sender *sender, uint64_t epoch_tsc);

// Hot path: send what may leave at now_tsc. Returns the number of frames offered to the port.
uint32_t sender_run(struct sender *sender, uint64_t now_tsc);

// After the loop: nothing is sent any more; free what was built.
void sender_stop(struct sender *sender);

// Then, where the sender was too far behind: departures of the schedule that were never offered to
// the port are counted as due, unsent, abandoned and void. They are walked through one by one, for
// minutes where they are very many, so nobody may have to be polled meanwhile. Returns false if
// more than n_allowed signals ended the walk: then the rest is in no count.
bool sender_count_abandoned(struct sender *sender, volatile const int *n_signals, int n_allowed);
