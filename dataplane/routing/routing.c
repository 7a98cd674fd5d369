#include "routing_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

// Room for one more of size bytes. Returns the place, or NULL with one line in error.
static void *add(void **items, size_t *n, size_t *room, size_t size, struct error *error)
{
	if (*n == *room) {
		size_t wanted = *room > 0 ? 2 * *room : FIRST_ROOM;
		void *moved = reallocarray(*items, wanted, size);
		if (moved == NULL) {
			error_set(error, "no memory for %zu routes and neighbours; take some away",
				wanted);
			return NULL;
		}
		*items = moved;
		*room = wanted;
	}
	return (char *)*items + (*n)++ * size;
}

int routing_add_route(struct routing *routing, const struct route *route, struct error *error)
{
	void *items = routing->routes;
	struct route *added =
		add(&items, &routing->n_routes, &routing->room_routes, sizeof(*route), error);

	routing->routes = items;
	if (added == NULL)
		return -ENOMEM;
	*added = *route;
	return 0;
}

int routing_add_neighbour(
	struct routing *routing, const struct neighbour *neighbour, struct error *error)
{
	void *items = routing->neighbours;
	struct neighbour *added = add(&items, &routing->n_neighbours, &routing->room_neighbours,
		sizeof(*neighbour), error);

	routing->neighbours = items;
	if (added == NULL)
		return -ENOMEM;
	*added = *neighbour;
	return 0;
}

int routing_add_address(
	struct routing *routing, const struct port_address *address, struct error *error)
{
	void *items = routing->addresses;
	struct port_address *added = add(
		&items, &routing->n_addresses, &routing->room_addresses, sizeof(*address), error);

	routing->addresses = items;
	if (added == NULL)
		return -ENOMEM;
	*added = *address;
	return 0;
}

int routing_init(struct routing *routing, uint16_t n_ports, struct error *error)
{
	*routing = (struct routing){.n_ports = n_ports};
	routing->ports = calloc(n_ports, sizeof(*routing->ports));
	if (routing->ports != NULL)
		return 0;
	error_set(error, "no memory for %u ports", n_ports);
	return -ENOMEM;
}

void routing_free(struct routing *routing)
{
	free(routing->routes);
	free(routing->neighbours);
	free(routing->addresses);
	free(routing->ports);
	free(routing->hops);
	*routing = (struct routing){0};
}

typedef int reader_fn(struct routing *, struct text_lines *, struct error *);

static int read_file(
	struct routing *routing, const char *path, reader_fn *read, struct error *error)
{
	struct text_lines lines;

	if (*path == '\0')
		return 0;
	int err = text_lines_open(&lines, path, error);
	if (err == 0)
		err = read(routing, &lines, error);
	text_lines_close(&lines);
	return err;
}

int routing_load(struct routing *routing, const struct routing_files *files, uint16_t n_ports,
	struct error *error)
{
	int err = routing_init(routing, n_ports, error);

	if (err == 0)
		err = read_file(routing, files->addresses, routing_read_addresses, error);
	if (err == 0)
		err = read_file(routing, files->neighbours, routing_read_neighbours, error);
	if (err == 0)
		err = read_file(routing, files->routes, routing_read_routes, error);
	if (err == 0)
		err = routing_resolve(routing, files, error);
	if (err < 0)
		routing_free(routing);
	return err;
}

static const struct route *find_exact(const struct routing *routing, const struct prefix *prefix)
{
	size_t from = 0, to = routing->n_routes;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct route *route = &routing->routes[middle];
		int order = address_compare(&route->prefix.address, &prefix->address);
		if (order == 0)
			order = route->prefix.depth - prefix->depth;
		if (order == 0)
			return route;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

const struct route *routing_find(const struct routing *routing, const struct address *address)
{
	for (int depth = (int)address_bits(address->is_v6); depth >= 0; depth--) {
		const struct prefix prefix = {
			address_masked(address, (unsigned int)depth), (uint8_t)depth};
		const struct route *route = find_exact(routing, &prefix);
		if (route != NULL)
			return route;
	}
	return NULL;
}
