#pragma once

// The connections that a stateful firewall knows, in DPDK's rte_hash, and when it forgets them. One
// thread owns a table. All memory is there from the start: beside a full table the known go on.

#include "error.h"
#include "firewall_packet.h"
#include "json_writer.h"

#include <rte_hash.h>

#include <stdbool.h>
#include <stdint.h>

// What a connection waits for: how long it is remembered without a packet.
enum connection_phase {
	CONNECTION_NONE, // the place is free
	CONNECTION_TCP_OPENING, // SYN; no ACK behind its answer
	CONNECTION_TCP, // or an ACK of what is older: as long as OPENING until answered
	CONNECTION_TCP_CLOSING, // FIN of one side
	CONNECTION_TCP_CLOSED, // RST, or FIN of both: a SYN begins another connection
	CONNECTION_UDP, // not answered
	CONNECTION_UDP_ANSWERED,
	CONNECTION_ICMP,
	CONNECTION_OTHER,
	CONNECTION_N_PHASES,
};

// The rule that a connection's last packet from one side met, and what of it can be different in
// the next: else rules would be compared with the same fields again.
struct met_rule {
	uint32_t rule : 20; // from 1; 0: the policy
	uint32_t state : 3, port : 8; // of the packet
	uint32_t is_set : 1;
};

struct connection {
	uint64_t expires_tsc;
	uint8_t phase; // enum connection_phase
	bool began_second; // its first packet came from the second of the key
	bool is_answered;
	uint8_t fins; // who sent FIN: 1 the first of the key, 2 the second
	struct met_rule met[2]; // by packets of the first of the key, and of the second
} __rte_aligned(32); // none lies in two lines of memory

struct connections {
	struct rte_hash *hash;
	struct connection *items; // by the hash's position
	uint64_t timeouts[CONNECTION_N_PHASES]; // ticks
	bool rules_have_flags; // some rule compares those of TCP
	uint32_t n, n_max, n_items;
	uint32_t cursor; // where the search for old ones goes on
	uint64_t n_begun, n_expired, n_most;
	uint64_t n_changes; // begun or forgotten: places found before may be another's
};

// Bytes of DPDK's memory that connections_init takes.
uint64_t connections_bytes(uint32_t n_max);

// timeouts and rules_have_flags of out are the caller's to fill. Returns 0 or -errno with one line
// in error.
int connections_init(struct connections *out, uint32_t n_max, struct error *error);
void connections_fini(struct connections *connections);

// Its counters as the member "connections" of the object that is open.
void connections_report(const struct connections *connections, struct json *json);

// Hot path, all of them.

// The places of n connections, at most RTE_HASH_LOOKUP_BULK_MAX; below 0 where there is none.
static inline void connections_find(
	const struct connections *connections, const void **keys, uint16_t n, int32_t *places)
{
	// What the bulk call does beside looking up costs more than a lookup where packets come one
	// by one, as they do at rates that the firewall can easily take.
	if (n == 1)
		places[0] = rte_hash_lookup(connections->hash, keys[0]);
	else
		(void)rte_hash_lookup_bulk(connections->hash, keys, n, places);
}

// What `ct state` says of a packet whose connection is at place.
enum rule_state connections_state(const struct connections *connections, int32_t place,
	const struct packet *packet, uint64_t now_tsc);

// The rule that a packet of this kind, whose state is set, met in the connection at place. False:
// none is kept, or place is below 0.
bool connections_recall_rule(const struct connections *connections, int32_t place,
	const struct packet *packet, uint32_t *rule);

// Keep it for the next, if nothing else of that can be another.
void connections_keep_rule(
	struct connections *connections, int32_t place, const struct packet *packet, uint32_t rule);

// The packet is its connection's next, whatever the rules say of it: as the kernel has it. True
// where the connection at place has come to its end before, so that the packet is no part of it.
bool connections_note(struct connections *connections, int32_t place, const struct packet *packet,
	enum rule_state state, uint64_t now_tsc);

// A connection's first packet has been accepted. False: the table is full.
bool connections_begin(
	struct connections *connections, const struct packet *packet, uint64_t now_tsc);

// Look at n places and free those whose time is over.
void connections_sweep(struct connections *connections, uint32_t n, uint64_t now_tsc);
