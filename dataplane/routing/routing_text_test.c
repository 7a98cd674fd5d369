// What a line of each file may say, and what it may not.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "routing_test_env.h"

static const char neighbours[] = "192.0.2.1 dev 1 lladdr 02:00:00:00:00:01\n"
				 "2001:db8::1 dev 1 lladdr 02:00:00:00:00:01\n";

static void test_lines_as_ip_lists_them(void **state)
{
	static const char *const good[] = {
		"default via 192.0.2.1 dev 1",
		"default via 192.0.2.1 dev 1 proto dhcp src 192.0.2.254 metric 100",
		"10.0.0.0/8 via 192.0.2.1 dev 1 proto static",
		"10.0.0.0/8 dev 2 proto kernel scope link src 192.0.2.254",
		"192.0.2.9 dev 1 scope link # one station",
		"unicast 10.0.0.0/8 via inet 192.0.2.1 dev 1 onlink table main",
		"blackhole 10.0.0.0/8",
		"unreachable default metric 4278198272",
		"prohibit 10.0.0.0/8 proto static",
		"default via 2001:db8::1 dev 1 proto ra metric 1024 pref medium",
		"unreachable 2001:db8:5::/48 dev lo proto static metric 1024 pref medium",
		"::/0 dev 1",
		"fe80::/64 dev 0 proto kernel metric 256 pref medium\nfe80::/64 dev 1 metric 256",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (test_load(good[i], neighbours, "192.0.2.254/24 dev 0") < 0)
			fail_msg("%s: %s", good[i], test_error.text);
		routing_free(&test_routing);
	}
}

struct row {
	const char *text, *error;
};

static void refuse(
	const struct row *row, const char *routes, const char *stations, const char *addresses)
{
	if (test_load(routes, stations, addresses) >= 0)
		fail_msg("%s was taken", row->text);
	if (strstr(test_error.text, row->error) != test_error.text)
		fail_msg("%s\nis told as: %s\nwanted:     %s", row->text, test_error.text,
			row->error);
	routing_free(&test_routing);
}

static void test_routes_that_cannot_be_honoured(void **state)
{
	static const struct row rows[] = {
		{"10.0.0.1/8 dev 1",
			"routes:1:1: 10.0.0.1/8: bits behind the prefix are set; write 10.0.0.0/8"},
		{"10.0.0.0/33 dev 1", "routes:1:1: 10.0.0.0/33: no prefix; write default, or an"},
		{"\n  throw 10.0.0.0/8", "routes:2:3: throw: no prefix; write default, or an"},
		{"local 10.0.0.1 dev 1", "routes:1:1: local: no prefix"},
		{"blackhole", "routes:1:10: no prefix; write one, as 10.0.0.0/8"},
		{"10.0.0.0/8", "routes:1:11: where to? add via ADDRESS, dev PORT, or both"},
		{"10.0.0.0/8 dev", "routes:1:15: dev has no value; write the number of a port"},
		{"10.0.0.0/8 dev eth0",
			"routes:1:16: dev eth0: no such port; ports are numbers, 0 to 2 in the "
			"order of --port"},
		{"10.0.0.0/8 dev 3", "routes:1:16: dev 3: no such port"},
		{"10.0.0.0/8 dev -1", "routes:1:16: dev -1: no such port"},
		{"10.0.0.0/8 dev 18446744073709551616",
			"routes:1:16: dev 18446744073709551616: no"},
		{"10.0.0.0/8 via 192.0.2 dev 1", "routes:1:16: 192.0.2: no address; write one as"},
		{"10.0.0.0/8 via inet6 ::1 dev 1", "routes:1:16: inet6: no address; write one"},
		{"10.0.0.0/8 via ::1 dev 1",
			"routes:1:16: ::1: the route is IPv4; an IPv4 address is wanted"},
		{"2001:db8::/32 via 192.0.2.1 dev 1",
			"routes:1:19: 192.0.2.1: the route is IPv6; an IPv6 address is wanted"},
		{"10.0.0.0/8 via 192.0.2.1 dev 1 mtu 1400",
			"routes:1:32: mtu: cannot be honoured; accepted are via, dev, src, metric"},
		{"10.0.0.0/8 nexthop via 192.0.2.1 dev 1", "routes:1:12: nexthop: cannot be"},
		{"10.0.0.0/8 encap mpls 100 via 192.0.2.1 dev 1", "routes:1:12: encap: cannot be"},
		{"10.0.0.0/8 dev 1 linkdown", "routes:1:18: linkdown: cannot be honoured"},
		{"10.0.0.0/8 dev 1 table 100",
			"routes:1:24: table 100: cannot be honoured; table main can"},
		{"10.0.0.0/8 dev 1 metric x",
			"routes:1:25: x: a number from 0 to 4294967295 is wanted"},
		{"10.0.0.0/8 dev 1 metric 4294967296", "routes:1:25: 4294967296: a number from"},
		{"10.0.0.0/8 dev 1 dev 2", "routes:1:18: dev: given twice; give it once"},
		{"blackhole 10.0.0.0/8 via 192.0.2.1",
			"routes:1:1: blackhole leads nowhere; take via and src away"},
		{"127.0.0.0/8 dev 1", "routes:1:1: nothing is forwarded to such addresses"},
		{"ff00::/8 dev 1", "routes:1:1: nothing is forwarded to such addresses"},
		{"\x1b[2J", "routes:1:1: byte 0x1b is no text; name a text file"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(&rows[i], rows[i].text, neighbours, "192.0.2.254/24 dev 0");
}

static void test_neighbours_that_cannot_be_honoured(void **state)
{
	static const struct row rows[] = {
		{"192.0.2 dev 1 lladdr 02:00:00:00:00:01",
			"neighbours:1:1: 192.0.2: no address; write one as 192.0.2.1 or"},
		{"192.0.2.0/24 dev 1 lladdr 02:00:00:00:00:01",
			"neighbours:1:1: 192.0.2.0/24: no address"},
		{"192.0.2.1 lladdr 02:00:00:00:00:01", "neighbours:1:35: dev is missing; write it"},
		{"192.0.2.1 dev 1",
			"neighbours:1:16: lladdr is missing; write it as 192.0.2.1 dev"},
		{"192.0.2.1 dev 1 FAILED", "neighbours:1:17: FAILED: cannot be honoured; accepted"},
		{"192.0.2.1 dev 1 lladdr ff:ff:ff:ff:ff:ff",
			"neighbours:1:24: ff:ff:ff:ff:ff:ff: no MAC address of one station"},
		{"192.0.2.1 dev 1 lladdr", "neighbours:1:23: lladdr has no value; write a MAC"},
		{"192.0.2.1 dev 9 lladdr 02:00:00:00:00:01",
			"neighbours:1:15: dev 9: no such port"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(&rows[i], "", rows[i].text, "");
}

static void test_addresses_that_cannot_be_honoured(void **state)
{
	static const struct row rows[] = {
		{"eth0", "addresses:1:1: eth0: no address; write 192.0.2.254/24 dev 0, or dev 0"},
		{"192.0.2.1/24", "addresses:1:13: dev and a port are wanted here"},
		{"192.0.2.1/24 brd +", "addresses:1:14: dev and a port are wanted here"},
		{"192.0.2.1/24 dev 5", "addresses:1:18: dev 5: no such port"},
		{"192.0.2.1/24 dev 0 scope link", "addresses:1:20: scope: nothing is wanted here"},
		{"dev", "addresses:1:4: dev has no value; write the number of a port"},
		{"dev 0", "addresses:1:6: dev has no value; write address and a MAC address"},
		{"dev 0 mtu 1500", "addresses:1:7: mtu: address is wanted here, and a MAC address"},
		{"dev 0 address", "addresses:1:14: address has no value; write a MAC address"},
		{"dev 0 address 02:00:00:00:00:00 up",
			"addresses:1:33: up: nothing is wanted here"},
		{"dev 0 address 02:00:00:00:00:00\ndev 0 address 02:00:00:00:00:01",
			"addresses:2:5: 0: the port has a MAC address already; give it once"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(&rows[i], "", "", rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_as_ip_lists_them),
		cmocka_unit_test(test_routes_that_cannot_be_honoured),
		cmocka_unit_test(test_neighbours_that_cannot_be_honoured),
		cmocka_unit_test(test_addresses_that_cannot_be_honoured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
