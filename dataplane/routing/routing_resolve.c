// From lines to next hops: what follows from the addresses of the ports, which of two routes of one
// prefix counts, and whose MAC address a gateway has.

#include "routing_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct resolver {
	struct routing *routing;
	const struct routing_files *files;
	struct error *error;
};

__attribute__((format(printf, 4, 5))) static int fail(const struct resolver *resolver,
	const char *path, unsigned int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_vset(resolver->error, format, args);
	va_end(args);
	error_prefix(resolver->error, "%s:%u:1", path, line);
	return -EINVAL;
}

static int no_memory(const struct resolver *resolver)
{
	error_set(resolver->error, "no memory for %zu routes; take some away",
		resolver->routing->n_routes);
	return -ENOMEM;
}

// The kernel's metric of an IPv6 network that follows from an address (IP6_RT_PRIO_ADDRCONF).
static const uint32_t own_metric6 = 256;

static int add_route(const struct resolver *resolver, const struct prefix *prefix,
	enum route_kind kind, const struct port_address *of)
{
	const struct route route = {
		.prefix = {address_masked(&prefix->address, prefix->depth), prefix->depth},
		.kind = kind,
		.port = of->port,
		.line = of->line,
		.metric = prefix->address.is_v6 ? own_metric6 : 0,
		.source = of->network.address,
		.has_source = true,
		.is_own = true,
	};

	return routing_add_route(resolver->routing, &route, resolver->error);
}

// An address is the router's own, its network is at the port, and IPv4's first and last address of
// a network are those of all its stations (RFC 1122 3.3.6).
static int add_own(const struct resolver *resolver, const struct port_address *address)
{
	const struct prefix *network = &address->network;
	const unsigned int bits = address_bits(network->address.is_v6);
	struct prefix one = {network->address, (uint8_t)bits};
	int err = add_route(resolver, &one, ROUTE_LOCAL, address);

	if (err == 0 && network->depth < bits)
		err = add_route(resolver, network, ROUTE_CONNECTED, address);
	if (err < 0 || network->address.is_v6 || network->depth >= bits - 1)
		return err;
	one.address = address_masked(&network->address, network->depth);
	err = add_route(resolver, &one, ROUTE_BROADCAST, address);
	const struct prefix masked = {one.address, network->depth};
	one.address = prefix_last(&masked);
	return err == 0 ? add_route(resolver, &one, ROUTE_BROADCAST, address) : err;
}

// The first address of a port is what the router calls itself there; at a port without one, as
// elsewhere (RFC 1812 4.3.2.4).
static void choose_sources(struct routing *routing)
{
	for (size_t i = 0; i < routing->n_addresses; i++) {
		const struct address *address = &routing->addresses[i].network.address;
		struct port_own *own = &routing->ports[routing->addresses[i].port];
		if (!own->has_source[address->is_v6])
			own->sources[address->is_v6] = *address;
		own->has_source[address->is_v6] = true;
	}
	for (uint16_t port = 0; port < routing->n_ports; port++)
		for (size_t i = 0; i < routing->n_addresses; i++) {
			const struct address *address = &routing->addresses[i].network.address;
			struct port_own *own = &routing->ports[port];
			if (!own->has_source[address->is_v6])
				own->sources[address->is_v6] = *address;
			own->has_source[address->is_v6] = true;
		}
}

static int rank(const struct route *route)
{
	return route->kind <= ROUTE_BROADCAST ? (int)route->kind : (int)ROUTE_FORWARD;
}

// The first of a prefix is the one that counts: addresses of the router's own, as in the kernel's
// table "local", then the least metric, of one metric the file before the networks of addresses.
static int compare_routes(const void *left, const void *right)
{
	const struct route *a = left, *b = right;
	int order = address_compare(&a->prefix.address, &b->prefix.address);

	if (order == 0)
		order = a->prefix.depth - b->prefix.depth;
	if (order == 0)
		order = rank(a) - rank(b);
	if (order == 0 && a->metric != b->metric)
		order = a->metric < b->metric ? -1 : 1;
	if (order == 0)
		order = a->is_own - b->is_own;
	if (order == 0 && a->line != b->line)
		order = a->line < b->line ? -1 : 1;
	return order;
}

static bool is_same_prefix(const struct route *a, const struct route *b)
{
	return a->prefix.depth == b->prefix.depth &&
	       address_compare(&a->prefix.address, &b->prefix.address) == 0;
}

// Two routes of the file that follow each other in order: of one prefix the metric has to tell
// which counts, also where a third counts before both.
static int check_metrics(
	const struct resolver *resolver, const struct route *first, const struct route *second)
{
	char text[ADDRESS_TEXT_MAX];

	if (first->is_own || second->is_own || first->metric != second->metric ||
		rank(first) != rank(second))
		return 0;
	return fail(resolver, resolver->files->routes, second->line,
		"%s/%u stands in line %u already; give the one that counts the least metric",
		address_text(&first->prefix.address, text), first->prefix.depth, first->line);
}

// Two routes of one prefix by addresses, of which the first counts: refused where none of both is
// meant.
static int check_twins(
	const struct resolver *resolver, const struct route *first, const struct route *second)
{
	char text[ADDRESS_TEXT_MAX];
	const char *name = address_text(&first->prefix.address, text);

	if (!first->is_own || !second->is_own || rank(first) != rank(second))
		return 0;
	if (first->kind == ROUTE_LOCAL)
		return fail(resolver, resolver->files->addresses, second->line,
			"%s is given in line %u already; give it once", name, first->line);
	if (first->kind == ROUTE_CONNECTED && first->port != second->port)
		return fail(resolver, resolver->files->addresses, second->line,
			"the network %s/%u is at port %u already, by line %u; take one away", name,
			first->prefix.depth, first->port, first->line);
	return 0;
}

static int sort_routes(const struct resolver *resolver)
{
	struct routing *routing = resolver->routing;
	size_t n = 0;

	qsort(routing->routes, routing->n_routes, sizeof(*routing->routes), compare_routes);
	for (size_t i = 0; i < routing->n_routes; i++) {
		const struct route *route = &routing->routes[i];
		if (n > 0 && is_same_prefix(&routing->routes[n - 1], route)) {
			// The one before is where it was sorted to, whether it was kept or not.
			int err = check_metrics(resolver, route - 1, route);
			if (err == 0)
				err = check_twins(resolver, &routing->routes[n - 1], route);
			if (err < 0)
				return err;
			continue;
		}
		routing->routes[n++] = *route;
	}
	routing->n_routes = n;
	return 0;
}

static int compare_neighbours(const void *left, const void *right)
{
	const struct neighbour *a = left, *b = right;
	int order = address_compare(&a->address, &b->address);

	return order != 0 ? order : a->port - b->port;
}

static int sort_neighbours(const struct resolver *resolver)
{
	struct routing *routing = resolver->routing;
	struct neighbour *all = routing->neighbours;
	char text[ADDRESS_TEXT_MAX];

	if (routing->n_neighbours > 0)
		qsort(all, routing->n_neighbours, sizeof(*all), compare_neighbours);
	for (size_t i = 1; i < routing->n_neighbours; i++)
		if (compare_neighbours(&all[i - 1], &all[i]) == 0)
			return fail(resolver, resolver->files->neighbours,
				all[i - 1].line > all[i].line ? all[i - 1].line : all[i].line,
				"%s dev %u is given twice; give it once",
				address_text(&all[i].address, text), all[i].port);
	return 0;
}

// A station of a connected network gets a route of its own, with its MAC address as the next hop.
static int add_stations(const struct resolver *resolver)
{
	struct routing *routing = resolver->routing;
	const size_t n_before = routing->n_routes;
	int err = 0;

	for (size_t i = 0; i < routing->n_neighbours; i++) {
		struct neighbour *neighbour = &routing->neighbours[i];
		const struct route *network = routing_find(routing, &neighbour->address);
		if (network == NULL || network->kind != ROUTE_CONNECTED ||
			network->port != neighbour->port)
			continue;
		neighbour->source = network->source;
		neighbour->has_source = network->has_source;
		// A network of one station needs no second route.
		struct route *own = &routing->routes[network - routing->routes];
		neighbour->is_station = own->prefix.depth < address_bits(own->prefix.address.is_v6);
		if (!neighbour->is_station) {
			own->kind = ROUTE_FORWARD;
			own->via = neighbour->address;
			own->has_via = true;
		}
	}
	for (size_t i = 0; err == 0 && i < routing->n_neighbours; i++) {
		const struct neighbour *neighbour = &routing->neighbours[i];
		const struct route route = {
			.prefix = {neighbour->address,
				(uint8_t)address_bits(neighbour->address.is_v6)},
			.kind = ROUTE_FORWARD,
			.via = neighbour->address,
			.source = neighbour->source,
			.port = neighbour->port,
			.line = neighbour->line,
			.has_via = true,
			.has_source = neighbour->has_source,
			.is_own = true,
		};
		if (neighbour->is_station)
			err = routing_add_route(routing, &route, resolver->error);
	}
	return err == 0 && routing->n_routes > n_before ? sort_routes(resolver) : err;
}

static int fail_at_via(const struct resolver *resolver, const struct route *route, const char *what)
{
	char text[ADDRESS_TEXT_MAX];

	error_set(resolver->error, "%s:%u:%u: via %s: %s", resolver->files->routes, route->line,
		route->via_column, address_text(&route->via, text), what);
	return -EINVAL;
}

// The port of a gateway that was given without one: that of the network it is a station of.
static int find_port(const struct resolver *resolver, struct route *route)
{
	const struct route *network;

	if (route->port != ROUTING_NO_PORT)
		return 0;
	network = routing_find(resolver->routing, &route->via);
	// The station itself, or its network where it has no neighbour's line.
	if (network == NULL || network->port == ROUTING_NO_PORT ||
		!(network->kind == ROUTE_CONNECTED ||
			(network->kind == ROUTE_FORWARD &&
				address_compare(&network->via, &network->prefix.address) == 0)))
		return fail_at_via(resolver, route, "in no network of a port; add dev PORT");
	route->port = network->port;
	return 0;
}

static int make_hop(
	const struct resolver *resolver, const struct route *route, struct next_hop *out)
{
	const struct routing *routing = resolver->routing;
	const struct neighbour wanted = {.address = route->via, .port = route->port};
	const struct neighbour *gateway =
		routing->n_neighbours == 0
			? NULL
			: bsearch(&wanted, routing->neighbours, routing->n_neighbours,
				  sizeof(wanted), compare_neighbours);
	const struct port_own *own = &routing->ports[route->port];
	const bool is_v6 = route->via.is_v6;

	if (gateway == NULL)
		return fail_at_via(resolver, route,
			"no neighbour at that port; give its MAC address in the file of "
			"neighbours");
	memset(out, 0, sizeof(*out)); // compared as bytes
	out->port = route->port;
	memcpy(out->mac, gateway->mac, sizeof(out->mac));
	out->has_source = route->has_source || own->has_source[is_v6];
	out->source = route->has_source ? route->source : own->sources[is_v6];
	return 0;
}

static int compare_hops(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct next_hop));
}

static int check_source(const struct resolver *resolver, const struct route *route)
{
	const struct route *own;
	char text[ADDRESS_TEXT_MAX];

	if (!route->has_source || route->is_own)
		return 0;
	own = routing_find(resolver->routing, &route->source);
	if (own != NULL && own->kind == ROUTE_LOCAL)
		return 0;
	return fail(resolver, resolver->files->routes, route->line,
		"src %s: no address of the router's; give it in the file of addresses",
		address_text(&route->source, text));
}

// Each hop once: the hot path reads a line of the cache for each.
static int make_hops(const struct resolver *resolver)
{
	struct routing *routing = resolver->routing;
	struct next_hop key;
	size_t n = 0, n_unique = 0;
	int err = 0;

	routing->hops = calloc(routing->n_routes + 1, sizeof(*routing->hops));
	if (routing->hops == NULL)
		return no_memory(resolver);
	for (size_t i = 0; err == 0 && i < routing->n_routes; i++) {
		struct route *route = &routing->routes[i];
		err = check_source(resolver, route);
		if (err == 0 && route->kind == ROUTE_FORWARD)
			err = find_port(resolver, route);
		if (err == 0 && route->kind == ROUTE_FORWARD)
			err = make_hop(resolver, route, &routing->hops[n++]);
	}
	if (err < 0)
		return err;
	qsort(routing->hops, n, sizeof(*routing->hops), compare_hops);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || compare_hops(&routing->hops[i], &routing->hops[n_unique - 1]) != 0)
			routing->hops[n_unique++] = routing->hops[i];
	routing->n_hops = n_unique;
	for (size_t i = 0; i < routing->n_routes; i++) {
		struct route *route = &routing->routes[i];
		if (route->kind != ROUTE_FORWARD)
			continue;
		(void)make_hop(resolver, route, &key); // as above
		const struct next_hop *hop =
			bsearch(&key, routing->hops, n_unique, sizeof(key), compare_hops);
		route->hop = (uint32_t)(hop - routing->hops);
	}
	return 0;
}

int routing_resolve(struct routing *routing, const struct routing_files *files, struct error *error)
{
	const struct resolver resolver = {routing, files, error};
	int err = 0;

	choose_sources(routing);
	for (size_t i = 0; err == 0 && i < routing->n_addresses; i++)
		err = add_own(&resolver, &routing->addresses[i]);
	if (err == 0 && routing->n_routes > 0)
		err = sort_routes(&resolver);
	if (err == 0)
		err = sort_neighbours(&resolver);
	if (err == 0 && routing->n_routes > 0)
		err = add_stations(&resolver);
	return err == 0 ? make_hops(&resolver) : err;
}
