#pragma once

// Puts the packets of one direction in the order of their numbers. A record is written when it is
// known what became of its packet: a lost one comes one to four deadlines after those sent with it.
// What waits for it is kept in a ring.

#include <stdint.h>

// A number that did not come until one so many later has is left out. The generator keeps no more
// than 2^22 packets in flight (in_flight.h).
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { SEQ_ORDER_REACH = 1 << 13 };
#else
enum { SEQ_ORDER_REACH = 1 << 23 };
#endif

struct seq_packet {
	uint64_t seq;
	int64_t due_ns, sent_ns, received_ns; // NO_TIME: never
	uint16_t flags; // enum packet_flag
};

// Returns 0 to go on; anything else ends the adding, which returns it.
typedef int seq_order_give(void *context, const struct seq_packet *packet);

struct seq_order;

// give is called with each packet, numbers ascending. Returns 0 or -ENOMEM.
int seq_order_create(seq_order_give *give, void *context, struct seq_order **out);
void seq_order_destroy(struct seq_order *order);

// Returns 0, -ERANGE where the number came before or is too late, -ENOMEM, or what give returned.
int seq_order_add(struct seq_order *order, const struct seq_packet *packet);

// Say that there is no packet of this number. One that still comes is taken.
int seq_order_skip(struct seq_order *order, uint64_t seq);

// Give what still waits.
int seq_order_end(struct seq_order *order);
