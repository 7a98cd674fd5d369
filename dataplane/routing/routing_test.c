// What lines mean together: networks of the ports, stations, gateways, and which of two counts.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "routing_test_env.h"

static const char addresses[] = "192.0.2.254/24 dev 0\n198.51.100.254/24 dev 1\n"
				"2001:db8:1::ff/64 dev 1\ndev 1 address 02:00:00:00:01:00\n";
static const char neighbours[] = "192.0.2.1 dev 0 lladdr 02:00:00:00:00:01 REACHABLE\n"
				 "198.51.100.7 dev 1 lladdr 02:00:00:00:00:07 PERMANENT\n"
				 "fe80::1 dev 1 lladdr 02:00:00:00:00:08 router STALE\n";

static void test_addresses_make_networks_and_own_addresses(void **state)
{
	assert_int_equal(test_load("", neighbours, addresses), 0);

	assert_kind("192.0.2.254", ROUTE_LOCAL);
	assert_kind("2001:db8:1::ff", ROUTE_LOCAL);
	assert_kind("192.0.2.0", ROUTE_BROADCAST);
	assert_kind("192.0.2.255", ROUTE_BROADCAST);
	assert_kind("192.0.2.77", ROUTE_CONNECTED);
	assert_kind("2001:db8:1::77", ROUTE_CONNECTED);
	assert_null(test_find("203.0.113.1"));
	assert_true(test_routing.ports[1].has_mac);
	assert_false(test_routing.ports[0].has_mac);
	routing_free(&test_routing);
}

static void test_a_neighbour_in_a_network_of_its_port_is_a_next_hop(void **state)
{
	char text[ADDRESS_TEXT_MAX];

	assert_int_equal(test_load("", neighbours, addresses), 0);
	const struct next_hop *hop = test_hop("192.0.2.1");
	assert_int_equal(hop->port, 0);
	assert_int_equal(hop->mac[5], 1);
	assert_true(hop->has_source);
	assert_string_equal(address_text(&hop->source, text), "192.0.2.254");
	routing_free(&test_routing);

	// In the network of another port it is not.
	assert_int_equal(test_load("", "192.0.2.1 dev 1 lladdr 02:00:00:00:00:01", addresses), 0);
	assert_kind("192.0.2.1", ROUTE_CONNECTED);
	routing_free(&test_routing);
}

static void test_a_network_of_one_station(void **state)
{
	assert_int_equal(
		test_load("192.0.2.9 dev 2\n", "192.0.2.9 dev 2 lladdr 02:00:00:00:00:09", ""), 0);
	assert_int_equal(test_hop("192.0.2.9")->port, 2);
	assert_false(test_hop("192.0.2.9")->has_source);
	routing_free(&test_routing);
}

static void test_gateways_become_hops_once_each(void **state)
{
	char text[ADDRESS_TEXT_MAX];

	assert_int_equal(test_load("default via 192.0.2.1 dev 0 proto static\n"
				   "10.0.0.0/8 via 198.51.100.7\n"
				   "10.1.0.0/16 via 198.51.100.7 dev 1 src 192.0.2.254\n"
				   "10.2.0.0/16 via 198.51.100.7 dev 1 onlink metric 20\n"
				   "2001:db8:2::/48 via fe80::1 dev 1 pref medium\n",
				 neighbours, addresses),
		0);
	assert_int_equal(test_hop("203.0.113.1")->port, 0);
	assert_int_equal(test_hop("10.9.0.1")->mac[5], 7);
	assert_ptr_equal(test_hop("10.9.0.1"), test_hop("10.2.3.4"));
	assert_string_equal(address_text(&test_hop("10.1.2.3")->source, text), "192.0.2.254");
	assert_string_equal(
		address_text(&test_hop("2001:db8:2::1")->source, text), "2001:db8:1::ff");
	assert_int_equal(test_routing.n_hops, 4);
	routing_free(&test_routing);
}

// Prefixes of few bits in one byte, so that they lie within each other and side by side.
static void test_the_longest_prefix_is_found_as_by_looking_at_all(void **state)
{
	char text[4096];

	srand(15);
	for (int round = 0; round < 50; round++) {
		size_t len = 0;
		text[0] = '\0';
		for (unsigned int depth = 1; depth <= 32; depth += 1 + (unsigned int)rand() % 3) {
			struct prefix prefix = {{.bytes = {0x5a, 0xa5, (uint8_t)rand(), 0x5a}}, 0};
			char name[ADDRESS_TEXT_MAX];
			prefix.address = address_masked(&prefix.address, depth);
			address_text(&prefix.address, name);
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "blackhole %s/%u\n", name, depth);
		}
		assert_int_equal(test_load(text, "", ""), 0);
		for (int i = 0; i < 1000; i++) {
			const struct address wanted = {
				.bytes = {0x5a, 0xa5 ^ (rand() % 8 == 0), (uint8_t)rand(),
					0x5a ^ (1 << rand() % 8)}};
			const struct route *longest = NULL;
			for (size_t j = 0; j < test_routing.n_routes; j++) {
				const struct prefix *prefix = &test_routing.routes[j].prefix;
				const struct address masked =
					address_masked(&wanted, prefix->depth);
				if (address_compare(&masked, &prefix->address) == 0 &&
					(longest == NULL || prefix->depth > longest->prefix.depth))
					longest = &test_routing.routes[j];
			}
			assert_ptr_equal(routing_find(&test_routing, &wanted), longest);
		}
		routing_free(&test_routing);
	}
}

static void test_of_two_routes_the_lower_metric_counts(void **state)
{
	assert_int_equal(
		test_load("blackhole 10.0.0.0/8 metric 7\nunreachable 10.0.0.0/8 metric "
			  "3\nprohibit 192.0.2.0/24\nblackhole 192.0.2.254\n"
			  "blackhole 2001:db8:9::/48\nprohibit 2001:db8:9::/48 metric 512\n"
			  "blackhole 11.0.0.0/8\nprohibit 11.0.0.0/8 metric 512\n",
			"", addresses),
		0);
	// Without one it is 0, of IPv6 1024, as in the kernel.
	assert_kind("11.0.0.1", ROUTE_BLACKHOLE);
	assert_kind("2001:db8:9::1", ROUTE_PROHIBIT);
	assert_kind("10.0.0.1", ROUTE_UNREACHABLE);
	// The file before a port's own network, the router's own address before the file.
	assert_kind("192.0.2.77", ROUTE_PROHIBIT);
	assert_kind("192.0.2.254", ROUTE_LOCAL);
	routing_free(&test_routing);
}

// Its metric is the kernel's, 256.
static void test_an_ipv6_network_of_a_port_counts_by_its_metric(void **state)
{
	static const struct {
		const char *routes;
		enum route_kind kind;
	} rows[] = {
		{"prohibit 2001:db8:1::/64", ROUTE_CONNECTED},
		{"prohibit 2001:db8:1::/64 metric 257", ROUTE_CONNECTED},
		{"prohibit 2001:db8:1::/64 metric 256", ROUTE_PROHIBIT},
		{"prohibit 2001:db8:1::/64 metric 100", ROUTE_PROHIBIT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(test_load(rows[i].routes, "", "2001:db8:1::254/64 dev 1\n"), 0);
		assert_kind("2001:db8:1::77", rows[i].kind);
		assert_kind("2001:db8:1::254", ROUTE_LOCAL);
		routing_free(&test_routing);
	}
}

static void test_what_does_not_go_together_is_refused(void **state)
{
	static const struct {
		const char *routes, *neighbours, *addresses, *text;
	} rows[] = {
		{"10.0.0.0/8 dev 0\n\n10.0.0.0/8 dev 1\n", "", "",
			"routes:3:1: 10.0.0.0/8 stands in line 1 already; give the one that counts "
			"the least metric"},
		{"10.0.0.0/8 dev 1 metric 20\n10.0.0.0/8 dev 0 metric 10\n"
		 "10.0.0.0/8 dev 2 metric 20\n",
			"", "",
			"routes:3:1: 10.0.0.0/8 stands in line 1 already; give the one that counts "
			"the least metric"},
		{"2001:db8::/32 dev 1 metric 1024\n2001:db8::/32 dev 0\n", "", "",
			"routes:2:1: 2001:db8::/32 stands in line 1 already; give the one that "
			"counts the least metric"},
		{"10.0.0.0/8 via 192.0.2.1 dev 0\n", "", "",
			"routes:1:12: via 192.0.2.1: no neighbour at that port; give its MAC "
			"address in the file of neighbours"},
		{"10.0.0.0/8 via 192.0.2.1\n", "192.0.2.1 dev 0 lladdr 02:00:00:00:00:01", "",
			"routes:1:12: via 192.0.2.1: in no network of a port; add dev PORT"},
		{"10.0.0.0/8 dev 0 src 192.0.2.9\n", "", "192.0.2.1/24 dev 0",
			"routes:1:1: src 192.0.2.9: no address of the router's; give it in the "
			"file of addresses"},
		{"", "::1 dev 0 lladdr 02:00:00:00:00:01\n::1 dev 0 lladdr 02:00:00:00:00:02", "",
			"neighbours:2:1: ::1 dev 0 is given twice; give it once"},
		{"", "", "192.0.2.1/24 dev 0\n192.0.2.1/25 dev 0",
			"addresses:2:1: 192.0.2.1 is given in line 1 already; give it once"},
		{"", "", "192.0.2.1/24 dev 0\n192.0.2.2/24 dev 1",
			"addresses:2:1: the network 192.0.2.0/24 is at port 0 already, by line 1; "
			"take one away"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(test_load(rows[i].routes, rows[i].neighbours, rows[i].addresses) < 0);
		assert_string_equal(test_error.text, rows[i].text);
		routing_free(&test_routing);
	}
}

static void test_a_file_that_is_not_there_is_named(void **state)
{
	const struct routing_files files = {"/nonexistent/routes", "", ""};

	assert_true(routing_load(&test_routing, &files, 2, &test_error) < 0);
	assert_non_null(strstr(test_error.text, "/nonexistent/routes: No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_make_networks_and_own_addresses),
		cmocka_unit_test(test_a_neighbour_in_a_network_of_its_port_is_a_next_hop),
		cmocka_unit_test(test_a_network_of_one_station),
		cmocka_unit_test(test_gateways_become_hops_once_each),
		cmocka_unit_test(test_the_longest_prefix_is_found_as_by_looking_at_all),
		cmocka_unit_test(test_of_two_routes_the_lower_metric_counts),
		cmocka_unit_test(test_an_ipv6_network_of_a_port_counts_by_its_metric),
		cmocka_unit_test(test_what_does_not_go_together_is_refused),
		cmocka_unit_test(test_a_file_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
