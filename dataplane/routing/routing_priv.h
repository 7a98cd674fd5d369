#pragma once

// What the readers of the files (routes_text.c, stations_text.c) and what
// resolves them (routing_resolve.c) share.

#include "routing.h"
#include "text_lines.h"

// Read a stream that is open; text_lines_close is the caller's. Return 0 or -errno, as
// routing_load.
int routing_read_routes(struct routing *routing, struct text_lines *lines, struct error *error);
int routing_read_neighbours(struct routing *routing, struct text_lines *lines, struct error *error);
int routing_read_addresses(struct routing *routing, struct text_lines *lines, struct error *error);

// For the ports that there are; what is read is added to it. Returns 0 or -ENOMEM.
int routing_init(struct routing *routing, uint16_t n_ports, struct error *error);

// Add a copy at the end. Returns 0 or -ENOMEM with one line in error.
int routing_add_route(struct routing *routing, const struct route *route, struct error *error);
int routing_add_neighbour(
	struct routing *routing, const struct neighbour *neighbour, struct error *error);
int routing_add_address(
	struct routing *routing, const struct port_address *address, struct error *error);

// Of what was read: networks of the ports, one route a prefix, gateways and neighbours as next
// hops. Returns 0 or -errno, as routing_load.
int routing_resolve(
	struct routing *routing, const struct routing_files *files, struct error *error);
