// Who gets an ICMP error, what stands in it, and how many are sent.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions they use.
#include "nf_test_env.h"
#include "router_test_env.h"

#include <rte_icmp.h>

enum { TEST_SECOND = TEST_TSC_HZ };

static struct rte_icmp_hdr *icmp_behind(void *header, size_t len)
{
	return (struct rte_icmp_hdr *)((uint8_t *)header + len);
}

static void check_answer4(struct rte_mbuf *pkt, uint8_t type, uint8_t code, uint16_t quoted)
{
	const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = test_ipv4(pkt);
	const struct rte_icmp_hdr *icmp = icmp_behind(test_ipv4(pkt), 20);
	const struct rte_ipv4_hdr *old = (const struct rte_ipv4_hdr *)(icmp + 1);

	assert_int_equal(nf_egress(pkt), 0);
	assert_int_equal(pkt->pkt_len, 14 + 28 + quoted);
	assert_int_equal(ether->dst_addr.addr_bytes[5], 1);
	assert_true(rte_is_same_ether_addr(&ether->src_addr, &test_mac));
	assert_int_equal(ip->dst_addr, RTE_BE32(TEST_STATION));
	assert_int_equal(ip->src_addr, RTE_BE32(TEST_OWN));
	assert_int_equal(ip->type_of_service, 0xc0);
	assert_int_equal((uint16_t)~rte_raw_cksum(ip, 20), 0);
	assert_int_equal(rte_be_to_cpu_16(ip->total_length), 28 + quoted);
	assert_int_equal(icmp->icmp_type, type);
	assert_int_equal(icmp->icmp_code, code);
	assert_int_equal((uint16_t)~rte_raw_cksum(icmp, 8 + quoted), 0);
	assert_int_equal(old->packet_id, RTE_BE16(0x1234));
	assert_int_equal((uint16_t)~rte_raw_cksum(old, 20), 0); // as it was received
}

static void check_answer6(struct rte_mbuf *pkt, uint8_t type, uint8_t code, uint16_t quoted)
{
	static const uint8_t station[16] = {0x20, 1, 0xd, 0xb8, 0, 1, [15] = 1};
	static const uint8_t own[16] = {0x20, 1, 0xd, 0xb8, 0, 1, [15] = 0xff};
	const struct rte_ipv6_hdr *ip = test_ipv6(pkt);
	struct rte_icmp_hdr *icmp = icmp_behind(test_ipv6(pkt), 40);

	assert_int_equal(nf_egress(pkt), 0);
	assert_int_equal(pkt->pkt_len, 14 + 48 + quoted);
	assert_memory_equal(ip->dst_addr, station, 16);
	assert_memory_equal(ip->src_addr, own, 16);
	assert_int_equal(rte_be_to_cpu_16(ip->payload_len), 8 + quoted);
	assert_int_equal(icmp->icmp_type, type);
	assert_int_equal(icmp->icmp_code, code);
	uint16_t sum = icmp->icmp_cksum;
	icmp->icmp_cksum = 0;
	assert_int_equal(sum, rte_ipv6_udptcp_cksum(ip, icmp));
}

static void answer4(uint32_t destination, uint8_t ttl, uint8_t type, uint8_t code)
{
	struct test_nf nf;
	struct rte_mbuf *pkt = test_packet4(destination, 60);

	test_router(&nf, "");
	test_ipv4(pkt)->time_to_live = ttl;
	test_sum(test_ipv4(pkt));
	assert_true(test_passes(&nf, pkt, TEST_SECOND));
	check_answer4(pkt, type, code, 46);
	rte_pktmbuf_free(pkt);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_ipv4_errors(void **state)
{
	answer4(RTE_IPV4(10, 9, 0, 1), 1, 11, 0);
	answer4(RTE_IPV4(11, 0, 0, 1), 64, 3, 0);
	answer4(RTE_IPV4(10, 1, 0, 1), 64, 3, 1);
	answer4(RTE_IPV4(10, 3, 0, 1), 64, 3, 1);
	answer4(RTE_IPV4(10, 4, 0, 1), 64, 3, 13);
}

static void answer6(uint8_t net, uint8_t hops, uint8_t type, uint8_t code)
{
	struct test_nf nf;
	struct rte_mbuf *pkt = test_packet6(net, 80);

	test_router(&nf, "");
	test_ipv6(pkt)->hop_limits = hops;
	if (net == 0)
		test_ipv6(pkt)->dst_addr[0] = 0x30;
	assert_true(test_passes(&nf, pkt, TEST_SECOND));
	check_answer6(pkt, type, code, 66);
	rte_pktmbuf_free(pkt);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_ipv6_errors(void **state)
{
	answer6(9, 1, 3, 0);
	answer6(0, 64, 1, 0);
	answer6(1, 64, 1, 3);
	answer6(3, 64, 1, 0);
	answer6(4, 64, 1, 1);
}

static void test_long_packets_are_quoted_in_part(void **state)
{
	struct test_nf nf;
	struct rte_mbuf *pkts[2] = {
		test_packet4(RTE_IPV4(11, 0, 0, 1), 1514), test_packet6(1, 1514)};

	test_router(&nf, "");
	assert_int_equal(nf.ops->process(nf.state, pkts, 2, TEST_SECOND), 2);
	check_answer4(pkts[0], 3, 0, 576 - 28);
	check_answer6(pkts[1], 1, 3, 1280 - 48);
	rte_pktmbuf_free_bulk(pkts, 2);
	test_nf_destroy(&nf);
}

// Packets that nothing may be answered to (RFC 1812 4.3.2.7, RFC 4443 2.4(e)), all without a route.
static void test_errors_and_later_fragments_are_not_answered(void **state)
{
	struct test_nf nf;
	struct router *router = test_router(&nf, "");
	static const uint8_t destination_options[8] = {IPPROTO_ICMPV6, 0, 1, 4};
	static const uint8_t authentication[12] = {IPPROTO_ICMPV6, 1};
	struct rte_mbuf *pkts[6];

	for (int i = 0; i < 2; i++)
		pkts[i] = test_packet4(RTE_IPV4(11, 0, 0, 1), 60);
	for (int i = 2; i < 6; i++)
		pkts[i] = test_packet6(1, 80);
	test_ipv4(pkts[0])->fragment_offset = RTE_BE16(1);
	test_ipv4(pkts[1])->next_proto_id = IPPROTO_ICMP;
	icmp_behind(test_ipv4(pkts[1]), 20)->icmp_type = 11;
	test_sum(test_ipv4(pkts[0]));
	test_sum(test_ipv4(pkts[1]));
	test_ipv6(pkts[2])->proto = IPPROTO_ICMPV6;
	icmp_behind(test_ipv6(pkts[2]), 40)->icmp_type = 1;
	test_ipv6(pkts[3])->proto = IPPROTO_ICMPV6;
	icmp_behind(test_ipv6(pkts[3]), 40)->icmp_type = 137;
	test_ipv6(pkts[4])->proto = IPPROTO_DSTOPTS;
	memcpy(test_ipv6(pkts[4]) + 1, destination_options, 8);
	icmp_behind(test_ipv6(pkts[4]), 48)->icmp_type = 3;
	test_ipv6(pkts[5])->proto = IPPROTO_AH;
	memcpy(test_ipv6(pkts[5]) + 1, authentication, 12);
	icmp_behind(test_ipv6(pkts[5]), 52)->icmp_type = 3;

	assert_int_equal(nf.ops->process(nf.state, pkts, 6, TEST_SECOND), 0);
	assert_int_equal(router->n_answers[ROUTER_NOT_ALLOWED], 6);
	rte_pktmbuf_free_bulk(pkts, 6);
	test_nf_destroy(&nf);
}

static void test_an_echo_request_is_answered(void **state)
{
	struct test_nf nf;
	struct rte_mbuf *pkts[2] = {test_packet4(RTE_IPV4(11, 0, 0, 1), 60), test_packet6(1, 80)};

	test_router(&nf, "");
	test_ipv4(pkts[0])->next_proto_id = IPPROTO_ICMP;
	icmp_behind(test_ipv4(pkts[0]), 20)->icmp_type = 8;
	test_sum(test_ipv4(pkts[0]));
	test_ipv6(pkts[1])->proto = IPPROTO_ICMPV6;
	icmp_behind(test_ipv6(pkts[1]), 40)->icmp_type = 128;
	assert_int_equal(nf.ops->process(nf.state, pkts, 2, TEST_SECOND), 2);
	rte_pktmbuf_free_bulk(pkts, 2);
	test_nf_destroy(&nf);
}

static uint16_t n_answered(struct test_nf *nf, uint16_t n, uint64_t now_tsc)
{
	struct rte_mbuf *pkts[TEST_HOLD_MAX];

	for (uint16_t i = 0; i < n; i++)
		pkts[i] = test_packet4(RTE_IPV4(11, 0, 0, 1), 60);
	uint16_t kept = nf->ops->process(nf->state, pkts, n, now_tsc);
	rte_pktmbuf_free_bulk(pkts, n);
	return kept;
}

static void test_errors_are_sent_at_no_higher_rate(void **state)
{
	const uint64_t start = TEST_SECOND, tick = TEST_SECOND / 1000;
	struct test_nf nf;
	struct router *router = test_router(&nf, ",errors=1000");

	assert_int_equal(n_answered(&nf, 60, start), ROUTER_BURST);
	assert_int_equal(n_answered(&nf, 5, start + tick - 1), 0);
	assert_int_equal(n_answered(&nf, 5, start + tick), 1);
	assert_int_equal(n_answered(&nf, 60, start + 21 * tick), 20);
	assert_int_equal(n_answered(&nf, 60, start + 100 * (uint64_t)TEST_SECOND), ROUTER_BURST);
	assert_int_equal(router->n_answers[ROUTER_OVER_RATE], 10 + 5 + 4 + 40 + 10);
	test_nf_destroy(&nf);

	router = test_router(&nf, ",errors=0");
	assert_int_equal(n_answered(&nf, 3, start), 0);
	assert_int_equal(router->n_answers[ROUTER_OVER_RATE], 3);
	test_nf_destroy(&nf);
}

static void test_who_cannot_be_reached_is_not_answered(void **state)
{
	struct test_nf nf;
	struct router *router = test_router(&nf, "");
	struct rte_mbuf *pkts[2] = {
		test_packet4(RTE_IPV4(11, 0, 0, 1), 60), test_packet4(RTE_IPV4(11, 0, 0, 1), 60)};

	test_ipv4(pkts[0])->src_addr = RTE_BE32(RTE_IPV4(12, 0, 0, 1)); // no route
	test_sum(test_ipv4(pkts[0]));
	// No room before the frame: as a driver without headroom gives it.
	memmove(pkts[1]->buf_addr, rte_pktmbuf_mtod(pkts[1], void *), 60);
	pkts[1]->data_off = 0;
	assert_int_equal(nf.ops->process(nf.state, pkts, 2, TEST_SECOND), 0);
	assert_int_equal(router->n_answers[ROUTER_NO_WAY_BACK], 2);
	rte_pktmbuf_free_bulk(pkts, 2);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4_errors),
		cmocka_unit_test(test_ipv6_errors),
		cmocka_unit_test(test_long_packets_are_quoted_in_part),
		cmocka_unit_test(test_errors_and_later_fragments_are_not_answered),
		cmocka_unit_test(test_an_echo_request_is_answered),
		cmocka_unit_test(test_errors_are_sent_at_no_higher_rate),
		cmocka_unit_test(test_who_cannot_be_reached_is_not_answered),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
	test_env_stop();
	return failed;
}
