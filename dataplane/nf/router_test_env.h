#pragma once

// Frames, and a router between two ports, for its tests, whose group has the fixtures of
// test_folder.h. Included once a test program, after nf_test_env.h.

#include "router_state.h"
#include "test_folder.h"

#include <rte_ip.h>
#include <rte_udp.h>

static const char test_routes[] = "10.0.0.0/8 via 198.51.100.7 dev 1\n"
				  "10.66.0.0/16 via 192.0.2.1 dev 0\n"
				  "10.1.0.0/16 dev 1\n"
				  "blackhole 10.2.0.0/16\n"
				  "unreachable 10.3.0.0/16\n"
				  "prohibit 10.4.0.0/16\n"
				  "2001:db8:a::/48 via 2001:db8:2::7 dev 1\n"
				  "2001:db8:a:1::/64 dev 1\n"
				  "blackhole 2001:db8:a:2::/64\n"
				  "unreachable 2001:db8:a:3::/64\n"
				  "prohibit 2001:db8:a:4::/64\n";
static const char test_neighbours[] = "192.0.2.1 dev 0 lladdr 02:00:00:00:00:01\n"
				      "198.51.100.7 dev 1 lladdr 02:00:00:00:00:07\n"
				      "2001:db8:1::1 dev 0 lladdr 02:00:00:00:00:01\n"
				      "2001:db8:2::7 dev 1 lladdr 02:00:00:00:00:07\n";
static const char test_addresses[] = "192.0.2.254/24 dev 0\n198.51.100.254/24 dev 1\n"
				     "2001:db8:1::ff/64 dev 0\n2001:db8:2::ff/64 dev 1\n"
				     "dev 0 address 02:00:00:00:0a:00\n";
static const struct rte_ether_addr test_mac = {{2, 0, 0, 0, 10, 0}};

static inline void test_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

// more: further options, "" or ",key=value". Gives its state.
static inline struct router *test_router(struct test_nf *nf, const char *more)
{
	char options[256], paths[3][64];
	static const char *const names[] = {"routes", "neighbours", "addresses"};
	const char *const texts[] = {test_routes, test_neighbours, test_addresses};

	for (int i = 0; i < 3; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", test_folder, names[i]);
		test_write(paths[i], texts[i]);
	}
	snprintf(options, sizeof(options), "routes=%s,neighbours=%s,addresses=%s%s", paths[0],
		paths[1], paths[2], more);
	if (test_nf_create(nf, "router", options, 2) < 0)
		fail_msg("%s", test_error.text);
	return nf->state;
}

static inline struct rte_ipv4_hdr *test_ipv4(const struct rte_mbuf *pkt)
{
	return rte_pktmbuf_mtod_offset(pkt, struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
}

static inline struct rte_ipv6_hdr *test_ipv6(const struct rte_mbuf *pkt)
{
	return rte_pktmbuf_mtod_offset(pkt, struct rte_ipv6_hdr *, RTE_ETHER_HDR_LEN);
}

static inline void test_sum(struct rte_ipv4_hdr *ip)
{
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (uint16_t)~rte_raw_cksum(
		ip, RTE_MIN(rte_ipv4_hdr_len(ip), (uint8_t)TEST_FRAME_LEN));
}

static inline struct rte_mbuf *test_frame(uint16_t type, uint16_t len)
{
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(test_pool);

	assert_non_null(pkt);
	assert_non_null(rte_pktmbuf_append(pkt, len));
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, struct rte_ether_hdr *);
	memset(ether, 0, len);
	ether->dst_addr = test_mac;
	ether->src_addr = (struct rte_ether_addr){{2, 0, 0, 0, 0, 1}};
	ether->ether_type = rte_cpu_to_be_16(type);
	pkt->port = 0;
	nf_set_egress(pkt, 1);
	return pkt;
}

// RTE_IPV4 shifts an int beyond its end here.
#define TEST_STATION UINT32_C(0xc0000201) // 192.0.2.1
#define TEST_OWN UINT32_C(0xc00002fe) // 192.0.2.254

// UDP from 192.0.2.1, TTL 64, in a frame of len bytes.
static inline struct rte_mbuf *test_packet4(uint32_t destination, uint16_t len)
{
	struct rte_mbuf *pkt = test_frame(RTE_ETHER_TYPE_IPV4, len);

	*test_ipv4(pkt) = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(len - RTE_ETHER_HDR_LEN),
		.packet_id = RTE_BE16(0x1234),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = RTE_BE32(TEST_STATION),
		.dst_addr = rte_cpu_to_be_32(destination)};
	test_sum(test_ipv4(pkt));
	return pkt;
}

// UDP from 2001:db8:1::1 to 2001:db8:a:NET::9, hop limit 64.
static inline struct rte_mbuf *test_packet6(uint8_t net, uint16_t len)
{
	struct rte_mbuf *pkt = test_frame(RTE_ETHER_TYPE_IPV6, len);

	*test_ipv6(pkt) = (struct rte_ipv6_hdr){.vtc_flow = RTE_BE32(0x60000000),
		.payload_len =
			rte_cpu_to_be_16(len - RTE_ETHER_HDR_LEN - sizeof(struct rte_ipv6_hdr)),
		.proto = IPPROTO_UDP,
		.hop_limits = 64,
		.src_addr = {0x20, 1, 0xd, 0xb8, 0, 1, [15] = 1},
		.dst_addr = {0x20, 1, 0xd, 0xb8, 0, 10, 0, net, [15] = 9}};
	return pkt;
}

// One packet through it; true: it came out. Freed by the caller in either case.
static inline bool test_passes(struct test_nf *nf, struct rte_mbuf *pkt, uint64_t now_tsc)
{
	return nf->ops->process(nf->state, &pkt, 1, now_tsc) == 1;
}
