// The tables that packets are looked up in: rte_fib and rte_fib6, made of what was read.

#include "router_state.h"

#include <rte_errno.h>
#include <rte_malloc.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	FIRST_BITS = 24, // of either table's first level
	LEVEL = 256, // entries of each further one
	NARROW_MOST = INT16_MAX, // entries of two bytes hold so much: the lowest bit is theirs
	// Of the tree that rte_fib keeps beside the table: two nodes a route, of three cache lines
	// each with the pool's header and padding, and their pointers in a ring.
	NODES_A_ROUTE = 2,
	NODE_BYTES = 3 * RTE_CACHE_LINE_SIZE + 2 * sizeof(void *),
	SPARE_LEVELS = 64, // rte_fib wants one or two free while it adds
	SPARE_BYTES = 4 << 20,
};

struct size {
	size_t n_routes; // without the default route
	size_t n_levels;
	unsigned int entry_bytes;
};

static uint64_t entry_of(const struct route *route)
{
	static const uint8_t entries[] = {
		[ROUTE_LOCAL] = ROUTER_LOCAL,
		[ROUTE_BROADCAST] = ROUTER_BROADCAST,
		[ROUTE_CONNECTED] = ROUTER_NO_NEIGHBOUR,
		[ROUTE_BLACKHOLE] = ROUTER_BLACKHOLE,
		[ROUTE_UNREACHABLE] = ROUTER_UNREACHABLE,
		[ROUTE_PROHIBIT] = ROUTER_PROHIBITED,
	};

	return route->kind == ROUTE_FORWARD ? (uint64_t)ROUTER_HOPS + route->hop
					    : entries[route->kind];
}

// Where the routes come in their order (by address, then depth), those that share a level are
// neighbours. Counts levels as the table has them.
struct level_counter {
	const struct route *last[16]; // the last one that needs a level behind so many bytes
	size_t n;
};

static void count_levels(struct level_counter *counter, const struct route *route)
{
	for (unsigned int bytes = FIRST_BITS / 8; 8 * bytes < route->prefix.depth; bytes++) {
		const struct route *last = counter->last[bytes];
		if (last != NULL &&
			memcmp(last->prefix.address.bytes, route->prefix.address.bytes, bytes) == 0)
			continue;
		counter->last[bytes] = route;
		counter->n++;
	}
}

// rte_fib6 reserves levels, more than it takes: for a route whose last byte no other has begun, all
// from the longest route around it on.
struct reservation {
	const struct route *around[129]; // each within the one before it
	size_t n_around, n;
};

static bool holds(const struct route *outer, const struct route *inner, unsigned int depth)
{
	const struct address masked = address_masked(&inner->prefix.address, depth);
	const struct address outer_masked = address_masked(&outer->prefix.address, depth);

	return address_compare(&masked, &outer_masked) == 0;
}

static unsigned int whole_bytes(unsigned int depth)
{
	return (RTE_MAX(depth, (unsigned int)FIRST_BITS) + 7) / 8;
}

static void reserve(
	struct reservation *reservation, const struct route *before, const struct route *route)
{
	const unsigned int begun = route->prefix.depth / 8 * 8;
	unsigned int depth = FIRST_BITS;

	while (reservation->n_around > 0) {
		const struct route *outer = reservation->around[reservation->n_around - 1];
		if (holds(outer, route, outer->prefix.depth))
			break;
		reservation->n_around--;
	}
	if (reservation->n_around > 0)
		depth = reservation->around[reservation->n_around - 1]->prefix.depth;
	reservation->around[reservation->n_around++] = route;
	if (before == NULL || before->prefix.depth < begun || !holds(before, route, begun))
		reservation->n += whole_bytes(route->prefix.depth) - whole_bytes(depth);
}

static struct size size_of(const struct routing *routing, bool is_v6)
{
	struct level_counter counter = {0};
	struct reservation reservation = {0};
	const struct route *before = NULL;
	struct size size = {0};

	for (size_t i = 0; i < routing->n_routes; i++) {
		const struct route *route = &routing->routes[i];
		if (route->prefix.address.is_v6 != is_v6 || route->prefix.depth == 0)
			continue;
		size.n_routes++;
		count_levels(&counter, route);
		if (is_v6)
			reserve(&reservation, before, route);
		before = route;
	}
	size.n_levels = RTE_MAX(counter.n, reservation.n) + SPARE_LEVELS;
	size.entry_bytes =
		size.n_levels > NARROW_MOST || routing->n_hops + ROUTER_HOPS > NARROW_MOST ? 4 : 2;
	return size;
}

static uint64_t size_bytes(const struct size *size)
{
	if (size->n_routes == 0)
		return 0;
	return ((UINT64_C(1) << FIRST_BITS) + (size->n_levels + SPARE_LEVELS) * LEVEL) *
		       size->entry_bytes +
	       size->n_levels * sizeof(uint32_t) +
	       (uint64_t)size->n_routes * NODES_A_ROUTE * NODE_BYTES + SPARE_BYTES;
}

uint64_t router_tables_bytes(const struct routing *routing)
{
	const struct size size4 = size_of(routing, false), size6 = size_of(routing, true);

	return size_bytes(&size4) + size_bytes(&size6) +
	       (routing->n_hops + 1) * sizeof(struct router_hop) +
	       routing->n_ports * sizeof(struct router_port);
}

static uint64_t default_entry(const struct routing *routing, bool is_v6)
{
	for (size_t i = 0; i < routing->n_routes; i++) {
		const struct route *route = &routing->routes[i];
		if (route->prefix.address.is_v6 == is_v6 && route->prefix.depth == 0)
			return entry_of(route);
	}
	return ROUTER_NO_ROUTE;
}

static int fail(struct error *error, const struct size *size, int err)
{
	error_set(error,
		"router: a table for %zu routes and %zu levels below them: %s; give it memory with "
		"huge pages (taut doctor), or take routes away",
		size->n_routes, size->n_levels, rte_strerror(err));
	return -err;
}

// Shorter prefixes come first, so that each one is written once.
static int create4(
	struct router *router, const struct routing *routing, const char *name, struct error *error)
{
	const struct size size = size_of(routing, false);
	struct rte_fib_conf conf = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = router->default4,
		.max_routes = (int)size.n_routes,
		.dir24_8 = {.nh_sz =
				    size.entry_bytes == 2 ? RTE_FIB_DIR24_8_2B : RTE_FIB_DIR24_8_4B,
			.num_tbl8 = (uint32_t)size.n_levels},
	};

	if (size.n_routes == 0)
		return 0;
	router->fib4 = rte_fib_create(name, SOCKET_ID_ANY, &conf);
	if (router->fib4 == NULL)
		return fail(error, &size, rte_errno);
	for (size_t i = 0; i < routing->n_routes; i++) {
		const struct route *route = &routing->routes[i];
		const uint8_t *bytes = route->prefix.address.bytes;
		uint32_t address = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
				   (uint32_t)bytes[2] << 8 | bytes[3];
		if (route->prefix.address.is_v6 || route->prefix.depth == 0)
			continue;
		int err = rte_fib_add(router->fib4, address, route->prefix.depth, entry_of(route));
		if (err < 0)
			return fail(error, &size, -err);
	}
	return 0;
}

static int create6(
	struct router *router, const struct routing *routing, const char *name, struct error *error)
{
	const struct size size = size_of(routing, true);
	struct rte_fib6_conf conf = {
		.type = RTE_FIB6_TRIE,
		.default_nh = router->default6,
		.max_routes = (int)size.n_routes,
		.trie = {.nh_sz = size.entry_bytes == 2 ? RTE_FIB6_TRIE_2B : RTE_FIB6_TRIE_4B,
			.num_tbl8 = (uint32_t)size.n_levels},
	};

	if (size.n_routes == 0)
		return 0;
	router->fib6 = rte_fib6_create(name, SOCKET_ID_ANY, &conf);
	if (router->fib6 == NULL)
		return fail(error, &size, rte_errno);
	for (size_t i = 0; i < routing->n_routes; i++) {
		const struct route *route = &routing->routes[i];
		if (!route->prefix.address.is_v6 || route->prefix.depth == 0)
			continue;
		int err = rte_fib6_add(router->fib6, route->prefix.address.bytes,
			route->prefix.depth, entry_of(route));
		if (err < 0)
			return fail(error, &size, -err);
	}
	return 0;
}

// What is not given is an address of nobody else's in this network: locally administered.
static void set_ports(struct router *router, const struct routing *routing)
{
	for (uint16_t i = 0; i < routing->n_ports; i++) {
		const struct port_own *own = &routing->ports[i];
		router->ports[i] = (struct router_port){
			.mac = {{0x02, 0x74, 0, 0, 1, (uint8_t)i}}, .is_given = own->has_mac};
		if (own->has_mac)
			memcpy(router->ports[i].mac.addr_bytes, own->mac, MAC_LEN);
	}
}

static void set_hops(struct router *router, const struct routing *routing)
{
	for (size_t i = 0; i < routing->n_hops; i++) {
		const struct next_hop *next = &routing->hops[i];
		struct router_hop *hop = &router->hops[i];
		memcpy(hop->destination.addr_bytes, next->mac, MAC_LEN);
		hop->source = router->ports[next->port].mac;
		hop->port = next->port;
		hop->has_address = next->has_source;
		memcpy(hop->address, next->source.bytes, sizeof(hop->address));
	}
}

int router_tables_create(struct router *router, const struct routing *routing, struct error *error)
{
	static unsigned int n_made; // a name for each: there may be two routers
	char name[2][16];
	int err;

	snprintf(name[0], sizeof(name[0]), "r4_%u", n_made);
	snprintf(name[1], sizeof(name[1]), "r6_%u", n_made++);
	router->ports = rte_calloc("router", routing->n_ports, sizeof(*router->ports), 0);
	router->hops = rte_calloc(
		"router", routing->n_hops + 1, sizeof(*router->hops), RTE_CACHE_LINE_SIZE);
	if (router->ports == NULL || router->hops == NULL) {
		error_set(error, "router: no memory for %zu next hops", routing->n_hops);
		return -ENOMEM;
	}
	set_ports(router, routing);
	set_hops(router, routing);
	router->default4 = default_entry(routing, false);
	router->default6 = default_entry(routing, true);
	err = create4(router, routing, name[0], error);
	return err == 0 ? create6(router, routing, name[1], error) : err;
}

void router_tables_free(struct router *router)
{
	rte_fib_free(router->fib4);
	rte_fib6_free(router->fib6);
	rte_free(router->ports);
	rte_free(router->hops);
}
