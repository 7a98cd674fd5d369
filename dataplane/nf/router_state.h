#pragma once

// What the files of the router share: router.c forwards, router_check.c looks at headers,
// router_answer.c makes ICMP errors, router_tables.c the tables.

#include "error.h"
#include "routing.h"

#include <rte_ether.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_mbuf.h>

#include <stdbool.h>
#include <stdint.h>

// Why a packet was not forwarded. Those of a route come first: they are its entry in the tables,
// and ROUTER_HOPS plus the number of a hop is that of a route that leads on.
enum router_reason {
	ROUTER_NO_ROUTE,
	ROUTER_LOCAL,
	ROUTER_BROADCAST,
	ROUTER_NO_NEIGHBOUR,
	ROUTER_BLACKHOLE,
	ROUTER_UNREACHABLE,
	ROUTER_PROHIBITED,
	ROUTER_HOPS,
	ROUTER_EXPIRED = ROUTER_HOPS,
	ROUTER_NOT_IP,
	ROUTER_OTHER_HOST,
	ROUTER_LINK_BROADCAST,
	ROUTER_TRUNCATED,
	ROUTER_BAD_HEADER,
	ROUTER_BAD_CHECKSUM,
	ROUTER_BAD_SOURCE,
	ROUTER_BAD_DESTINATION,
	ROUTER_SOURCE_ROUTE,
	ROUTER_N_REASONS,
	ROUTER_IPV4 = ROUTER_N_REASONS, // nothing against it so far
	ROUTER_IPV6,
};

// What became of the ICMP error that a reason allows.
enum router_answer {
	ROUTER_ANSWERED,
	ROUTER_NOT_ALLOWED, // the packet is an error itself, or a later fragment
	ROUTER_OVER_RATE,
	ROUTER_NO_WAY_BACK, // no route, no address of its own, or no room in the buffer
	ROUTER_N_ANSWERS,
};

struct router_hop {
	struct rte_ether_addr destination, source; // in the order of a frame
	uint16_t port;
	bool has_address;
	uint8_t address[16]; // the router's own there, of the family of the route
} __rte_aligned(32);

struct router_port {
	struct rte_ether_addr mac;
	bool is_given; // frames to other stations are not the router's
};

// Of ICMP errors: a credit that grows with time, up to ROUTER_BURST of them.
struct router_budget {
	uint64_t ticks_each, ticks_most, ticks, last_tsc; // ticks_each 0: none is sent
};

struct router {
	struct rte_fib *fib4; // NULL: default4 is all there is
	struct rte_fib6 *fib6;
	uint64_t default4, default6;
	struct router_hop *hops;
	struct router_port *ports;
	struct router_budget budget;
	uint64_t n_forwarded, n_reasons[ROUTER_N_REASONS], n_answers[ROUTER_N_ANSWERS];
	uint16_t identification; // of the next IPv4 packet of its own
};

enum { ROUTER_BURST = 50 }; // ICMP errors at once, as Linux (icmp_msgs_burst)

// Hot path: what speaks against forwarding, by the headers alone; ROUTER_IPV4 or _IPV6: nothing.
enum router_reason router_check(const struct router *router, const struct rte_mbuf *pkt);

// Hot path: make the ICMP error of a reason of the packet that has one, and point it back to whom
// sent that. False: the packet is as it was, and to be dropped. Counts what became of it.
bool router_answer(struct router *router, struct rte_mbuf *pkt, enum router_reason reason,
	bool is_v6, uint64_t now_tsc);

// Hot path: find the entries of n destinations: 32 bits in host order, or 16 bytes each.
void router_find4(const struct router *router, uint32_t *addresses, uint64_t *entries, int n);
void router_find6(const struct router *router, uint8_t (*addresses)[16], uint64_t *entries, int n);

// Bytes of DPDK's memory that router_tables_create takes.
uint64_t router_tables_bytes(const struct routing *routing);

// Make the tables of a router. Returns 0 or -errno with one line in error; router_tables_free frees
// whatever was made.
int router_tables_create(struct router *router, const struct routing *routing, struct error *error);
void router_tables_free(struct router *router);
