#pragma once

// What the tests of routing share: its three files as texts. Included once a test program, after
// cmocka.h.

#include "routing_priv.h"

#include <stdint.h>
#include <string.h>

enum { TEST_PORTS = 3 };

static const struct routing_files test_files = {"routes", "neighbours", "addresses"};
static struct routing test_routing;
static struct error test_error;

typedef int test_reader(struct routing *, struct text_lines *, struct error *);

static inline int test_read(const char *text, const char *name, test_reader *read)
{
	static struct text_lines lines;

	if (*text == '\0')
		return 0;
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	assert_non_null(file);
	text_lines_read(&lines, file, name);
	int err = read(&test_routing, &lines, &test_error);
	text_lines_close(&lines);
	return err;
}

// As routing_load, of three ports; the caller frees test_routing. test_error holds its line.
static inline int test_load(const char *routes, const char *neighbours, const char *addresses)
{
	test_error.text[0] = '\0';
	assert_int_equal(routing_init(&test_routing, TEST_PORTS, &test_error), 0);
	int err = test_read(addresses, test_files.addresses, routing_read_addresses);
	if (err == 0)
		err = test_read(neighbours, test_files.neighbours, routing_read_neighbours);
	if (err == 0)
		err = test_read(routes, test_files.routes, routing_read_routes);
	return err == 0 ? routing_resolve(&test_routing, &test_files, &test_error) : err;
}

static inline const struct route *test_find(const char *text)
{
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	return routing_find(&test_routing, &address);
}

static inline void assert_kind(const char *destination, enum route_kind kind)
{
	const struct route *route = test_find(destination);

	assert_non_null(route);
	if (route->kind != kind)
		fail_msg("%s: kind %d, %d wanted", destination, (int)route->kind, (int)kind);
}

static inline const struct next_hop *test_hop(const char *destination)
{
	assert_kind(destination, ROUTE_FORWARD);
	return &test_routing.hops[test_find(destination)->hop];
}
