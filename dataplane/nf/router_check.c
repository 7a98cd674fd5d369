// What is no packet to be forwarded, seen by its headers (RFC 1812 5.2.2, 5.3.7; RFC 8200 3).

#include "nf.h"
#include "router_state.h"

#include <rte_branch_prediction.h>
#include <rte_ip.h>

#include <string.h>

enum {
	IPV4_OPTION_END = 0,
	IPV4_OPTION_NOP = 1,
	IPV4_LOOSE_SOURCE_ROUTE = 131,
	IPV4_STRICT_SOURCE_ROUTE = 137,
};

// Whether the ones' complement sum over a header is right (RFC 1071).
static inline bool is_sum_right(const uint8_t *header, unsigned int n_words)
{
	uint64_t sum = 0;
	uint32_t word;

	for (unsigned int i = 0; i < n_words; i++) {
		memcpy(&word, header + 4 * i, sizeof(word));
		sum += word;
	}
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + (sum >> 16 & UINT16_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	return ((sum & UINT16_MAX) + (sum >> 16)) == UINT16_MAX;
}

// This network, loopback, a group, everybody: none of them sends (RFC 1812 5.3.7).
static inline bool is_bad_source4(uint32_t address)
{
	return address >> 24 == 0 || address >> 24 == 127 || address >> 28 == 14 ||
	       address == UINT32_MAX;
}

// Options are forwarded as they are, but no source route is followed (RFC 7126 4.3, 4.4).
static enum router_reason check_options(const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at != IPV4_OPTION_END) {
		if (*at == IPV4_OPTION_NOP) {
			at++;
			continue;
		}
		if (end - at < 2 || at[1] < 2 || at[1] > end - at)
			return ROUTER_BAD_HEADER;
		if (*at == IPV4_LOOSE_SOURCE_ROUTE || *at == IPV4_STRICT_SOURCE_ROUTE)
			return ROUTER_SOURCE_ROUTE;
		at += at[1];
	}
	return ROUTER_IPV4;
}

static inline enum router_reason check_ipv4(const struct rte_mbuf *pkt)
{
	const struct rte_ipv4_hdr *ip =
		rte_pktmbuf_mtod_offset(pkt, const struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
	const uint8_t *header = (const uint8_t *)ip;

	if (unlikely(pkt->data_len < RTE_ETHER_HDR_LEN + sizeof(*ip)))
		return ROUTER_TRUNCATED;
	uint32_t header_len = rte_ipv4_hdr_len(ip);
	uint32_t total_len = rte_be_to_cpu_16(ip->total_length);
	uint32_t destination = rte_be_to_cpu_32(ip->dst_addr);
	if (unlikely(header[0] >> 4 != 4 || header_len < sizeof(*ip) || total_len < header_len))
		return ROUTER_BAD_HEADER;
	if (unlikely(pkt->data_len < RTE_ETHER_HDR_LEN + header_len ||
		     pkt->pkt_len < RTE_ETHER_HDR_LEN + total_len))
		return ROUTER_TRUNCATED;
	if (unlikely(!is_sum_right(header, header_len / 4)))
		return ROUTER_BAD_CHECKSUM;
	if (unlikely(is_bad_source4(rte_be_to_cpu_32(ip->src_addr))))
		return ROUTER_BAD_SOURCE;
	// Neither is a packet sent there forwarded; a group's would take a multicast router.
	if (unlikely(is_bad_source4(destination)))
		return ROUTER_BAD_DESTINATION;
	if (unlikely(header_len > sizeof(*ip)))
		return check_options(header + sizeof(*ip), header + header_len);
	return ROUTER_IPV4;
}

// The unspecified address, loopback, link-local, a group: RFC 4291 2.5.2, 2.5.3, 2.5.6, 2.7.
static inline bool is_bad_address6(const uint8_t address[16])
{
	static const uint8_t zeros[15];

	if (address[0] == 0xff || (address[0] == 0xfe && (address[1] & 0xc0) == 0x80))
		return true;
	return unlikely(address[0] == 0) && memcmp(address, zeros, sizeof(zeros)) == 0 &&
	       address[15] <= 1;
}

static inline enum router_reason check_ipv6(const struct rte_mbuf *pkt)
{
	const struct rte_ipv6_hdr *ip =
		rte_pktmbuf_mtod_offset(pkt, const struct rte_ipv6_hdr *, RTE_ETHER_HDR_LEN);

	if (unlikely(pkt->data_len < RTE_ETHER_HDR_LEN + sizeof(*ip)))
		return ROUTER_TRUNCATED;
	if (unlikely(((const uint8_t *)ip)[0] >> 4 != 6))
		return ROUTER_BAD_HEADER;
	if (unlikely(pkt->pkt_len <
		     RTE_ETHER_HDR_LEN + sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len)))
		return ROUTER_TRUNCATED;
	if (unlikely(is_bad_address6(ip->src_addr)))
		return ROUTER_BAD_SOURCE;
	if (unlikely(is_bad_address6(ip->dst_addr)))
		return ROUTER_BAD_DESTINATION;
	return ROUTER_IPV6;
}

enum router_reason router_check(const struct router *router, const struct rte_mbuf *pkt)
{
	const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, const struct rte_ether_hdr *);
	const struct router_port *port = &router->ports[nf_ingress(pkt)];

	if (unlikely(pkt->data_len < RTE_ETHER_HDR_LEN))
		return ROUTER_TRUNCATED;
	if (unlikely(rte_is_multicast_ether_addr(&ether->dst_addr)))
		return ROUTER_LINK_BROADCAST;
	if (port->is_given && unlikely(!rte_is_same_ether_addr(&ether->dst_addr, &port->mac)))
		return ROUTER_OTHER_HOST;
	if (likely(ether->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4)))
		return check_ipv4(pkt);
	if (likely(ether->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6)))
		return check_ipv6(pkt);
	return ROUTER_NOT_IP;
}
