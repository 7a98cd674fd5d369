// Which packets are forwarded, how they change, and why the others are not.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions they use.
#include "nf_test_env.h"
#include "router_test_env.h"

static void test_ipv4_is_forwarded_with_less_ttl_and_new_addresses(void **state)
{
	struct test_nf nf;
	struct router *router = test_router(&nf, "");
	struct rte_mbuf *pkt = test_packet4(RTE_IPV4(10, 9, 0, 1), 60);

	assert_true(test_passes(&nf, pkt, 0));

	const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, const struct rte_ether_hdr *);
	assert_int_equal(nf_egress(pkt), 1);
	assert_int_equal(ether->dst_addr.addr_bytes[5], 7);
	assert_memory_equal(&ether->src_addr, ((const uint8_t[]){2, 0x74, 0, 0, 1, 1}), 6);
	assert_int_equal(test_ipv4(pkt)->time_to_live, 63);
	assert_int_equal((uint16_t)~rte_raw_cksum(test_ipv4(pkt), 20), 0);
	assert_int_equal(router->n_forwarded, 1);
	rte_pktmbuf_free(pkt);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_ipv6_is_forwarded_with_less_hop_limit(void **state)
{
	struct test_nf nf;
	struct router *router = test_router(&nf, "");
	struct rte_mbuf *pkt = test_packet6(9, 60);

	assert_true(test_passes(&nf, pkt, 0));

	assert_int_equal(nf_egress(pkt), 1);
	assert_int_equal(test_ipv6(pkt)->hop_limits, 63);
	assert_int_equal(router->n_forwarded, 1);
	rte_pktmbuf_free(pkt);
	test_nf_destroy(&nf);
}

static void test_the_longest_prefix_decides_the_port(void **state)
{
	struct test_nf nf;
	struct rte_mbuf *pkts[3] = {test_packet4(RTE_IPV4(10, 66, 0, 1), 60), test_packet6(9, 60),
		test_packet4(RTE_IPV4(10, 67, 0, 1), 60)};

	test_router(&nf, "");
	assert_int_equal(nf.ops->process(nf.state, pkts, 3, 0), 3);
	assert_int_equal(nf_egress(pkts[0]), 0);
	assert_int_equal(nf_egress(pkts[1]), 1);
	assert_int_equal(nf_egress(pkts[2]), 1);
	rte_pktmbuf_free_bulk(pkts, 3);
	test_nf_destroy(&nf);
}

static void test_the_checksum_is_that_of_the_whole_header(void **state)
{
	struct test_nf nf;

	test_router(&nf, "");
	for (unsigned int id = 0; id <= UINT16_MAX; id += 13) {
		struct rte_mbuf *pkt = test_packet4(RTE_IPV4(10, 9, 0, 1), 60);
		test_ipv4(pkt)->packet_id = (uint16_t)id;
		test_ipv4(pkt)->time_to_live = (uint8_t)(2 + id % 254);
		test_sum(test_ipv4(pkt));
		assert_true(test_passes(&nf, pkt, 0));
		const uint16_t sum = test_ipv4(pkt)->hdr_checksum;
		test_sum(test_ipv4(pkt));
		assert_int_equal(sum, test_ipv4(pkt)->hdr_checksum);
		rte_pktmbuf_free(pkt);
	}
	test_nf_destroy(&nf);
}

static void test_fragments_and_options_pass_as_they_are(void **state)
{
	struct test_nf nf;
	struct rte_mbuf *pkts[2] = {
		test_packet4(RTE_IPV4(10, 9, 0, 1), 80), test_packet4(RTE_IPV4(10, 9, 0, 1), 80)};

	test_router(&nf, "");
	test_ipv4(pkts[0])->fragment_offset = RTE_BE16(0x2010);
	test_sum(test_ipv4(pkts[0]));
	test_ipv4(pkts[1])->version_ihl = 0x46;
	memcpy(test_ipv4(pkts[1]) + 1, (const uint8_t[]){1, 148, 3, 0}, 4);
	test_sum(test_ipv4(pkts[1]));

	assert_int_equal(nf.ops->process(nf.state, pkts, 2, 0), 2);
	assert_int_equal((uint16_t)~rte_raw_cksum(test_ipv4(pkts[1]), 24), 0);
	rte_pktmbuf_free_bulk(pkts, 2);
	test_nf_destroy(&nf);
}

// What is wrong with a packet that would be forwarded else.
struct fault {
	enum router_reason reason;
	bool is_v6;
	uint16_t at, len; // of the frame: bytes from there on become those
	uint8_t bytes[16];
	uint16_t cut; // the frame's length; 0: as it was
	bool is_summed; // the checksum is right again
};

enum { IP = RTE_ETHER_HDR_LEN };

static const struct fault faults[] = {
	{ROUTER_NOT_IP, false, 12, 2, {0x08, 0x06}, 0, false},
	{ROUTER_NOT_IP, false, 12, 2, {0x81, 0x00}, 0, false},
	{ROUTER_OTHER_HOST, false, 5, 1, {9}, 0, false},
	{ROUTER_LINK_BROADCAST, false, 0, 6, {255, 255, 255, 255, 255, 255}, 0, false},
	{ROUTER_LINK_BROADCAST, true, 0, 1, {0x33}, 0, false},
	{ROUTER_TRUNCATED, false, 0, 0, {0}, 13, false},
	{ROUTER_TRUNCATED, false, 0, 0, {0}, 33, false},
	{ROUTER_TRUNCATED, false, 0, 0, {0}, 59, false},
	{ROUTER_TRUNCATED, false, IP, 4, {0x4f, 0, 0, 200}, 0, true},
	{ROUTER_TRUNCATED, true, 0, 0, {0}, 53, false},
	{ROUTER_TRUNCATED, true, 0, 0, {0}, 59, false},
	{ROUTER_BAD_HEADER, false, IP, 1, {0x55}, 0, false},
	{ROUTER_BAD_HEADER, false, IP, 1, {0x44}, 0, false},
	{ROUTER_BAD_HEADER, false, IP + 2, 2, {0, 19}, 0, true},
	{ROUTER_BAD_HEADER, true, IP, 1, {0x40}, 0, false},
	{ROUTER_BAD_CHECKSUM, false, IP + 4, 1, {0x13}, 0, false},
	{ROUTER_BAD_SOURCE, false, IP + 12, 1, {0}, 0, true},
	{ROUTER_BAD_SOURCE, false, IP + 12, 1, {127}, 0, true},
	{ROUTER_BAD_SOURCE, false, IP + 12, 1, {239}, 0, true},
	{ROUTER_BAD_SOURCE, false, IP + 12, 4, {255, 255, 255, 255}, 0, true},
	{ROUTER_BAD_SOURCE, true, IP + 8, 1, {0xff}, 0, false},
	{ROUTER_BAD_SOURCE, true, IP + 8, 2, {0xfe, 0x80}, 0, false},
	{ROUTER_BAD_SOURCE, true, IP + 8, 16, {0}, 0, false},
	{ROUTER_BAD_DESTINATION, false, IP + 16, 1, {224}, 0, true},
	{ROUTER_BAD_DESTINATION, false, IP + 16, 4, {255, 255, 255, 255}, 0, true},
	{ROUTER_BAD_DESTINATION, true, IP + 24, 1, {0xff}, 0, false},
	{ROUTER_BAD_DESTINATION, true, IP + 24, 16, {[15] = 1}, 0, false},
	// Header of 24 bytes: a source route, and options whose length is none.
	{ROUTER_SOURCE_ROUTE, false, IP + 20, 4, {131, 3, 4, 0}, 0, true},
	{ROUTER_SOURCE_ROUTE, false, IP + 20, 4, {1, 137, 3, 4}, 0, true},
	{ROUTER_BAD_HEADER, false, IP + 20, 4, {7, 0, 0, 0}, 0, true},
	{ROUTER_BAD_HEADER, false, IP + 20, 4, {7, 5, 0, 0}, 0, true},
	{ROUTER_NO_ROUTE, false, IP + 16, 1, {11}, 0, true},
	{ROUTER_NO_ROUTE, true, IP + 24, 1, {0x30}, 0, false},
	{ROUTER_LOCAL, false, IP + 16, 4, {192, 0, 2, 254}, 0, true},
	{ROUTER_BROADCAST, false, IP + 16, 4, {192, 0, 2, 255}, 0, true},
	{ROUTER_NO_NEIGHBOUR, false, IP + 16, 4, {192, 0, 2, 77}, 0, true},
	{ROUTER_NO_NEIGHBOUR, false, IP + 16, 4, {10, 1, 2, 3}, 0, true},
	{ROUTER_NO_NEIGHBOUR, true, IP + 24 + 7, 1, {1}, 0, false},
	{ROUTER_BLACKHOLE, false, IP + 16, 4, {10, 2, 0, 1}, 0, true},
	{ROUTER_BLACKHOLE, true, IP + 24 + 7, 1, {2}, 0, false},
	{ROUTER_UNREACHABLE, false, IP + 16, 4, {10, 3, 0, 1}, 0, true},
	{ROUTER_UNREACHABLE, true, IP + 24 + 7, 1, {3}, 0, false},
	{ROUTER_PROHIBITED, false, IP + 16, 4, {10, 4, 0, 1}, 0, true},
	{ROUTER_PROHIBITED, true, IP + 24 + 7, 1, {4}, 0, false},
	{ROUTER_EXPIRED, false, IP + 8, 1, {1}, 0, true},
	{ROUTER_EXPIRED, false, IP + 8, 1, {0}, 0, true},
	{ROUTER_EXPIRED, true, IP + 7, 1, {1}, 0, false},
	{ROUTER_EXPIRED, true, IP + 7, 1, {0}, 0, false},
};

static struct rte_mbuf *faulty(const struct fault *fault)
{
	struct rte_mbuf *pkt =
		fault->is_v6 ? test_packet6(9, 60) : test_packet4(RTE_IPV4(10, 9, 0, 1), 60);

	if (fault->at == IP + 20)
		test_ipv4(pkt)->version_ihl = 0x46;
	memcpy(rte_pktmbuf_mtod_offset(pkt, uint8_t *, fault->at), fault->bytes, fault->len);
	if (fault->is_summed)
		test_sum(test_ipv4(pkt));
	if (fault->cut > 0) {
		pkt->data_len = fault->cut;
		pkt->pkt_len = fault->cut;
	}
	return pkt;
}

static void test_every_reason_not_to_forward_is_counted(void **state)
{
	bool seen[ROUTER_N_REASONS] = {false};
	struct test_nf nf;
	struct router *router = test_router(&nf, ",errors=0");

	for (size_t i = 0; i < RTE_DIM(faults); i++) {
		struct rte_mbuf *pkt = faulty(&faults[i]);
		uint64_t before = router->n_reasons[faults[i].reason];
		assert_false(test_passes(&nf, pkt, 0));
		if (router->n_reasons[faults[i].reason] != before + 1)
			fail_msg("fault %zu is not counted as %d", i, (int)faults[i].reason);
		seen[faults[i].reason] = true;
		rte_pktmbuf_free(pkt);
	}
	for (int i = 0; i < ROUTER_N_REASONS; i++)
		assert_true(seen[i]);
	assert_int_equal(router->n_forwarded, 0);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_random_frames_are_forwarded_answered_or_counted(void **state)
{
	struct test_nf nf;
	struct router *router = test_router(&nf, ",errors=1000000");
	uint64_t n_in = 0, n_out = 0, n_counted = 0;
	struct rte_mbuf *pkts[96];

	srand(15);
	for (int round = 0; round < 2000; round++) {
		uint16_t n = (uint16_t)(rand() % 96);
		for (uint16_t i = 0; i < n; i++) {
			pkts[i] = faulty(&faults[(size_t)rand() % RTE_DIM(faults)]);
			uint8_t *frame = rte_pktmbuf_mtod(pkts[i], uint8_t *);
			for (int k = rand() % 3; k > 0; k--)
				frame[rand() % 60] = (uint8_t)rand();
		}
		n_out += nf.ops->process(nf.state, pkts, n, (uint64_t)round * 1000000);
		n_in += n;
		rte_pktmbuf_free_bulk(pkts, n);
	}
	for (int i = 0; i < ROUTER_N_REASONS; i++)
		n_counted += router->n_reasons[i];
	assert_int_equal(n_in, router->n_forwarded + n_counted);
	assert_int_equal(n_out, router->n_forwarded + router->n_answers[ROUTER_ANSWERED]);
	assert_true(router->n_answers[ROUTER_ANSWERED] > 0);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

// So many that their lines, levels and next hops grow many times over.
static void write_many_routes(const char *path, bool is_v6, int n)
{
	static const char *const kinds[] = {"", "", "", "blackhole ", "unreachable ", "prohibit "};
	FILE *file = fopen(path, "w");
	char text[ADDRESS_TEXT_MAX];

	assert_non_null(file);
	srand(16);
	for (int i = 0; i < n; i++) {
		const unsigned int depth =
			is_v6 ? 20 + (unsigned int)rand() % 109 : 8 + (unsigned int)rand() % 25;
		const char *kind = kinds[rand() % 6];
		struct address address = {.is_v6 = is_v6};
		for (int j = 0; j < (is_v6 ? 16 : 4); j++)
			address.bytes[j] = (uint8_t)rand();
		address.bytes[0] = is_v6 ? 0x20 : 20 + address.bytes[0] % 80;
		address = address_masked(&address, depth);
		fprintf(file, "%s%s/%u", kind, address_text(&address, text), depth);
		if (*kind == '\0')
			fprintf(file, " via %s%d dev 1", is_v6 ? "2001:db8:2::" : "198.51.100.",
				1 + rand() % 9);
		fprintf(file, " metric %d\n", i);
	}
	assert_int_equal(fclose(file), 0);
}

static void assert_same_entry(const struct router *router, uint64_t entry,
	const struct routing *routing, const struct address *address)
{
	const struct route *route = routing_find(routing, address);

	if (route == NULL)
		assert_int_equal(entry, ROUTER_NO_ROUTE);
	else if (route->kind == ROUTE_FORWARD)
		assert_memory_equal(&router->hops[entry - ROUTER_HOPS].destination,
			routing->hops[route->hop].mac, MAC_LEN);
	else
		assert_int_equal(entry, route->kind == ROUTE_BLACKHOLE	   ? ROUTER_BLACKHOLE
					: route->kind == ROUTE_UNREACHABLE ? ROUTER_UNREACHABLE
									   : ROUTER_PROHIBITED);
}

static void test_many_routes_are_found_one_by_one(void **state)
{
	char routes[64], neighbours[64], options[160];
	const struct routing_files files = {routes, neighbours, ""};
	struct address address;
	struct error error;
	uint64_t entry;

	snprintf(routes, sizeof(routes), "%s/routes", test_folder);
	snprintf(neighbours, sizeof(neighbours), "%s/neighbours", test_folder);
	snprintf(options, sizeof(options), "routes=%s,neighbours=%s", routes, neighbours);
	FILE *file = fopen(neighbours, "w");
	assert_non_null(file);
	for (int i = 1; i < 10; i++)
		fprintf(file,
			"198.51.100.%d dev 1 lladdr 02:00:00:00:00:0%d\n"
			"2001:db8:2::%d dev 1 lladdr 02:00:00:00:00:0%d\n",
			i, i, i, i);
	assert_int_equal(fclose(file), 0);
	for (int is_v6 = 0; is_v6 < 2; is_v6++) {
		struct routing routing;
		struct test_nf nf;
		write_many_routes(routes, is_v6, is_v6 ? 10000 : 100000);
		if (test_nf_create(&nf, "router", options, 2) < 0)
			fail_msg("%s", test_error.text);
		assert_int_equal(routing_load(&routing, &files, 2, &error), 0);
		for (size_t i = 0; i < 100000; i++) {
			// Near a prefix, or anywhere.
			address = routing.routes[(size_t)rand() % routing.n_routes].prefix.address;
			for (int j = rand() % 4; j > 0; j--)
				address.bytes[1 + rand() % (is_v6 ? 15 : 3)] = (uint8_t)rand();
			uint32_t address4 =
				rte_be_to_cpu_32(*(const uint32_t *)(const void *)address.bytes);
			if (is_v6)
				router_find6(nf.state, &address.bytes, &entry, 1);
			else
				router_find4(nf.state, &address4, &entry, 1);
			assert_same_entry(nf.state, entry, &routing, &address);
		}
		routing_free(&routing);
		test_nf_destroy(&nf);
	}
}

static void test_without_routes_nothing_is_forwarded(void **state)
{
	struct rte_mbuf *pkts[2] = {test_packet4(RTE_IPV4(10, 9, 0, 1), 60), test_packet6(9, 60)};
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "router", NULL, 2), 0);
	assert_int_equal(nf.ops->process(nf.state, pkts, 2, 0), 0);
	assert_int_equal(((struct router *)nf.state)->n_reasons[ROUTER_NO_ROUTE], 2);
	rte_pktmbuf_free_bulk(pkts, 2);
	test_nf_destroy(&nf);
}

static void test_a_file_that_is_wrong_is_refused(void **state)
{
	char path[64], options[96], wanted[96];
	struct test_nf nf;

	snprintf(path, sizeof(path), "%s/wrong", test_folder);
	test_write(path, "10.0.0.0/8 dev 7\n");
	snprintf(options, sizeof(options), "routes=%s", path);
	snprintf(wanted, sizeof(wanted), "%s:1:16: dev 7: no such port", path);
	assert_true(test_nf_create(&nf, "router", options, 2) < 0);
	assert_ptr_equal(strstr(test_error.text, wanted), test_error.text);
	assert_int_equal(unlink(path), 0);
	assert_true(test_nf_create(&nf, "router", options, 2) < 0);
	assert_non_null(strstr(test_error.text, "No such file"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4_is_forwarded_with_less_ttl_and_new_addresses),
		cmocka_unit_test(test_ipv6_is_forwarded_with_less_hop_limit),
		cmocka_unit_test(test_the_longest_prefix_decides_the_port),
		cmocka_unit_test(test_the_checksum_is_that_of_the_whole_header),
		cmocka_unit_test(test_fragments_and_options_pass_as_they_are),
		cmocka_unit_test(test_every_reason_not_to_forward_is_counted),
		cmocka_unit_test(test_random_frames_are_forwarded_answered_or_counted),
		cmocka_unit_test(test_many_routes_are_found_one_by_one),
		cmocka_unit_test(test_without_routes_nothing_is_forwarded),
		cmocka_unit_test(test_a_file_that_is_wrong_is_refused),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
	test_env_stop();
	return failed;
}
