#pragma once

// The packets of one direction that were sent lately, found by sequence number: a ring, so that
// memory and cost are the same whatever the rate and duration. A packet that comes after the
// deadline, or that was not received when the ring comes round to it, is lost; should it come after
// all, it is late. Where the ring comes round long after the deadline, that is not waited for
// (measurement_seen).

#include <stdbool.h>
#include <stdint.h>

enum in_flight_state {
	IN_FLIGHT_EMPTY,
	IN_FLIGHT_SENT,
	IN_FLIGHT_RECEIVED,
	IN_FLIGHT_UNSENT, // refused by the port
	IN_FLIGHT_LOST, // not back by its deadline, and counted: should it come, it is late
};

enum in_flight_flag {
	IN_FLIGHT_VOID = 1 << 0, // sent late or stuck in the call because of a gap, or its backlog;
				 // sent behind that; once received also: a gap met its arrival
	IN_FLIGHT_COLD = 1 << 1,
	IN_FLIGHT_FIRST = 1 << 2, // none was sent right before it: no inter-departure time
};

struct in_flight_entry {
	uint64_t due_tsc;
	uint64_t sent_tsc;
	union {
		uint64_t inter_departure_ticks; // on its way: since the packet sent before
		uint64_t latency_ticks; // once received
	};
	uint32_t flow;
	uint16_t frame_len;
	uint8_t state; // enum in_flight_state
	uint8_t flags; // enum in_flight_flag
};

enum in_flight_limit {
	// Above 2^22 (128 MiB a direction) the ring reaches back less than the deadline: 0.3 s at
	// 13 Mpkt/s.
	IN_FLIGHT_MIN_CAPACITY = 1 << 12,
	IN_FLIGHT_MAX_CAPACITY = 1 << 22,
	IN_FLIGHT_DEADLINES = 4, // later the ring does not come round, but at low rates
};

struct in_flight_size {
	uint64_t capacity; // a power of two
	bool is_slow; // it comes round later than so many deadlines after a packet was sent
};

struct in_flight {
	struct in_flight_entry *entries;
	uint64_t mask;
	uint64_t next_seq; // of the next packet; those before it were sent or refused
};

enum in_flight_find {
	IN_FLIGHT_FOUND, // entry set; its state tells whether it is the first arrival
	IN_FLIGHT_TOO_LATE, // the ring has come round
	IN_FLIGHT_NEVER_SENT,
};

// A power of two that holds, within the limits above, the most that is sent within deadline_ns: a
// backlog leaves at twice the rate, and so many packets may be due at once.
struct in_flight_size in_flight_size(double rate_pps, uint64_t at_once, uint64_t deadline_ns);

// Take and touch the ring. capacity is a power of two. Returns 0 or -errno.
int in_flight_init(struct in_flight *in_flight, uint64_t capacity);
void in_flight_fini(struct in_flight *in_flight);

// Hot path: the slot of next_seq, which still holds the packet sent a whole ring ago.
static inline struct in_flight_entry *in_flight_next(struct in_flight *in_flight)
{
	return &in_flight->entries[in_flight->next_seq & in_flight->mask];
}

// Hot path: look up a packet by its sequence number. *entry is set only when it is found.
static inline enum in_flight_find in_flight_find(
	struct in_flight *in_flight, uint64_t seq, struct in_flight_entry **entry)
{
	if (seq >= in_flight->next_seq)
		return IN_FLIGHT_NEVER_SENT;
	if (in_flight->next_seq - seq > in_flight->mask + 1)
		return IN_FLIGHT_TOO_LATE;
	*entry = &in_flight->entries[seq & in_flight->mask];
	return IN_FLIGHT_FOUND;
}
