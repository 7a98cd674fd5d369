// The three files of a router in one input: addresses, neighbours and routes, with a byte of 0xff
// between them. What is taken makes sense, whatever it was.

#include "fuzz.h"
#include "routing_priv.h"

#include <string.h>

enum { N_PORTS = 3 };

typedef int reader(struct routing *, struct text_lines *, struct error *);

static int read_part(struct routing *routing, const uint8_t **at, const uint8_t *end,
	const char *name, reader *read)
{
	static struct text_lines lines;
	const uint8_t *stop = memchr(*at, 0xff, (size_t)(end - *at));
	size_t len = (size_t)((stop != NULL ? stop : end) - *at);
	struct error error = {0};
	int err = 0;

	if (len > 0) {
		FILE *file = fmemopen((void *)(uintptr_t)*at, len, "r");
		must(file != NULL, "memory");
		text_lines_read(&lines, file, name);
		err = read(routing, &lines, &error);
		text_lines_close(&lines);
		must(err == 0 || strncmp(error.text, name, strlen(name)) == 0,
			"a mistake is told with its file");
	}
	*at = stop != NULL ? stop + 1 : end;
	return err;
}

static void check_route(const struct routing *routing, size_t i)
{
	const struct route *route = &routing->routes[i];
	const struct prefix *prefix = &route->prefix;
	const struct address masked = address_masked(&prefix->address, prefix->depth);

	must(prefix->depth <= address_bits(prefix->address.is_v6), "a depth of its family");
	must(address_compare(&masked, &prefix->address) == 0, "nothing behind the prefix");
	const struct route *found = routing_find(routing, &prefix->address);
	must(found != NULL && found->prefix.depth >= prefix->depth, "a route is found");
	if (i > 0) {
		const struct prefix *before = &route[-1].prefix;
		int order = address_compare(&before->address, &prefix->address);
		must(order < 0 || (order == 0 && before->depth < prefix->depth), "in order, once");
	}
	if (route->kind != ROUTE_FORWARD)
		return;
	must(route->hop < routing->n_hops, "a next hop that is there");
	must(routing->hops[route->hop].port < N_PORTS, "a port that is there");
	must(route->via.is_v6 == prefix->address.is_v6, "a gateway of the family");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct routing_files files = {"routes", "neighbours", "addresses"};
	const uint8_t *at = data, *end = data + len;
	struct routing routing;
	struct error error = {0};

	must(routing_init(&routing, N_PORTS, &error) == 0, "memory");
	int err = read_part(&routing, &at, end, files.addresses, routing_read_addresses);
	if (err == 0)
		err = read_part(&routing, &at, end, files.neighbours, routing_read_neighbours);
	if (err == 0)
		err = read_part(&routing, &at, end, files.routes, routing_read_routes);
	if (err == 0)
		err = routing_resolve(&routing, &files, &error);
	for (size_t i = 0; err == 0 && i < routing.n_routes; i++)
		check_route(&routing, i);
	routing_free(&routing);
	return 0;
}
