#pragma once

// What a router knows, from three files: routes as `ip route` lists them, neighbours as `ip neigh`
// does, and the addresses of its own ports. No DPDK: nf/router_tables.c makes tables of it.

#include "address.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum route_kind {
	ROUTE_LOCAL, // an address of the router's own
	ROUTE_BROADCAST, // of a network that a port is in: never forwarded (RFC 2644)
	ROUTE_FORWARD, // to a next hop
	ROUTE_CONNECTED, // a network without gateway: what has no neighbour there ends here
	ROUTE_BLACKHOLE,
	ROUTE_UNREACHABLE,
	ROUTE_PROHIBIT,
};

enum { ROUTING_NO_PORT = UINT16_MAX };

struct route {
	struct prefix prefix;
	struct address via, source; // has_via, has_source
	enum route_kind kind;
	uint32_t metric, hop; // hop: of ROUTE_FORWARD, once resolved
	uint32_t line; // of the file of routes; is_own: of that of addresses or neighbours
	uint16_t port, via_column;
	bool has_via, has_source, is_own;
};

struct neighbour {
	struct address address;
	uint16_t port;
	uint8_t mac[MAC_LEN];
	uint32_t line;
	struct address source; // has_source: as the network it is a station of
	bool is_station, has_source; // of a network that its port is in
};

struct port_address {
	struct prefix network; // as written: the address with all its bits
	uint16_t port;
	uint32_t line;
};

// The router at one port: its MAC address, if it was given, and what it calls itself there.
struct port_own {
	struct address sources[2]; // of IPv4 and IPv6: has_source
	uint8_t mac[MAC_LEN];
	bool has_mac, has_source[2];
};

// Where a packet goes, and what the router's own messages there call themselves.
struct next_hop {
	struct address source; // has_source
	uint16_t port;
	uint8_t mac[MAC_LEN];
	bool has_source;
};

struct routing {
	struct route *routes; // once resolved: by family, address, depth; one a prefix
	struct neighbour *neighbours;
	struct port_address *addresses;
	struct port_own *ports;
	struct next_hop *hops;
	size_t n_routes, n_neighbours, n_addresses, n_hops;
	size_t room_routes, room_neighbours, room_addresses;
	uint16_t n_ports;
};

struct routing_files {
	const char *routes, *neighbours, *addresses; // "": none
};

// Read the files and resolve what they say. Returns 0 or -errno with one line in error, as
// FILE:LINE:COLUMN; on failure nothing stays allocated.
int routing_load(struct routing *routing, const struct routing_files *files, uint16_t n_ports,
	struct error *error);
void routing_free(struct routing *routing);

// The longest prefix that holds an address; NULL: none. By halving, so after routing_load.
const struct route *routing_find(const struct routing *routing, const struct address *address);
