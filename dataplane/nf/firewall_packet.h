#pragma once

// What the firewall reads of a frame: what its rules compare, and which connection it belongs to.

#include "rules.h"

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include <stdbool.h>
#include <stdint.h>

enum packet_kind {
	PACKET_IP, // to be judged by the rules
	PACKET_ARP,
	PACKET_OTHER, // neither IP nor ARP
	PACKET_MALFORMED, // its headers do not fit into it, or contradict each other
};

// Which fields of the header behind IP's the frame has: those that it lacks fit no rule.
enum packet_has {
	HAS_SPORT = 1,
	HAS_DPORT = 2,
	HAS_TCP_FLAGS = 4,
	HAS_TYPE = 8,
};

// What rte_acl reads: a byte, then groups of four, all in network order.
struct packet_fields {
	uint8_t protocol;
	uint8_t saddr[16], daddr[16]; // of IPv4 the first four bytes
	rte_be16_t sport, dport; // of ICMP sport is the type
	uint8_t state, tcp_flags, has, port;
} __rte_packed;

// What both directions of a connection have in common. For ICMP a port is the identifier, and the
// one who asks is first; else the lower address and port is.
struct connection_key {
	uint8_t first[16], second[16];
	rte_be16_t first_port, second_port;
	uint8_t protocol, family;
	uint8_t type, code; // of ICMP's request, whose answer has the same code
};

enum packet_track {
	TRACK_INVALID, // belongs to no connection and begins none
	TRACK_FLOW, // of the connection that key names, or its first
	TRACK_ANSWER, // likewise, but never its first: ICMP's replies
	TRACK_ERROR, // ICMP's message about a packet of that connection
	TRACK_NONE, // neighbour discovery and the like
};

struct packet {
	struct packet_fields fields; // state is the caller's
	enum packet_kind kind;
	enum packet_track track;
	bool is_fragment, is_ipv6;
	bool from_second; // sent by the second of key
	struct connection_key key;
};

// Read the frame that the mbuf's first segment holds; fields.port is its ingress port.
void packet_parse(const struct rte_mbuf *pkt, struct packet *out);
