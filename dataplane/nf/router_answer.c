// ICMP errors (RFC 792, RFC 1812 4.3, RFC 4443): which packet gets one, and the packet turned into
// it, in its own buffer.

#include "nf.h"
#include "router_state.h"

#include <rte_branch_prediction.h>
#include <rte_icmp.h>
#include <rte_ip.h>

#include <netinet/in.h>
#include <string.h>

enum {
	ICMP_LEN = 8,
	TTL = 64,
	// As much of the packet as fits: RFC 1812 4.3.2.3, RFC 4443 2.4(c).
	MOST_IPV4 = 576,
	MOST_IPV6 = 1280,
	PRECEDENCE = 0xc0, // internetwork control: RFC 1812 4.3.2.5
	KEPT_TOS = 0x1e,
	VERSION_6 = 0x60,
	// Headers behind the first that are looked through for ICMPv6.
	EXTENSIONS_MOST = 8,
	FRAGMENT_LEN = 8,
	ICMP6_FIRST_INFORMATION = 128,
	ICMP6_REDIRECT = 137,
};

struct message {
	uint8_t type4, code4, type6, code6;
	bool is_sent;
};

// The codes are Linux's, where the RFCs leave a choice.
static const struct message messages[ROUTER_N_REASONS] = {
	[ROUTER_NO_ROUTE] = {3, 0, 1, 0, true},
	[ROUTER_NO_NEIGHBOUR] = {3, 1, 1, 3, true},
	[ROUTER_UNREACHABLE] = {3, 1, 1, 0, true},
	[ROUTER_PROHIBITED] = {3, 13, 1, 1, true},
	[ROUTER_EXPIRED] = {11, 0, 3, 0, true},
};

// Of the ICMP types that are errors themselves none is answered (RFC 1812 4.3.2.7).
static bool is_error4(uint8_t type)
{
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

static bool is_allowed4(const struct rte_mbuf *pkt, const struct rte_ipv4_hdr *ip)
{
	const uint32_t at = RTE_ETHER_HDR_LEN + rte_ipv4_hdr_len(ip);

	if ((ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return false;
	if (ip->next_proto_id != IPPROTO_ICMP)
		return true;
	return at < pkt->data_len && !is_error4(*rte_pktmbuf_mtod_offset(pkt, uint8_t *, at));
}

static uint32_t extension_len(uint8_t protocol, const uint8_t *header)
{
	if (protocol == IPPROTO_FRAGMENT)
		return FRAGMENT_LEN;
	// RFC 4302 2.2: in words of four bytes, less two.
	return protocol == IPPROTO_AH ? 4 * (header[1] + 2U) : 8 * (header[1] + 1U);
}

// RFC 4443 2.4(e): not of an ICMPv6 error, nor of a redirect; it may stand behind other headers.
static bool is_allowed6(const struct rte_mbuf *pkt, const struct rte_ipv6_hdr *ip)
{
	uint32_t at = RTE_ETHER_HDR_LEN + sizeof(*ip);
	uint8_t next = ip->proto;

	for (int i = 0; i < EXTENSIONS_MOST; i++) {
		const uint8_t *header = rte_pktmbuf_mtod_offset(pkt, const uint8_t *, at);
		if (next == IPPROTO_ICMPV6)
			return at < pkt->data_len && header[0] >= ICMP6_FIRST_INFORMATION &&
			       header[0] != ICMP6_REDIRECT;
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
			next != IPPROTO_FRAGMENT && next != IPPROTO_AH)
			return true;
		if (at + FRAGMENT_LEN > pkt->data_len)
			return false;
		// What a later fragment is of cannot be seen.
		if (next == IPPROTO_FRAGMENT && ((header[2] << 8 | header[3]) & 0xfff8) != 0)
			return true;
		at += extension_len(next, header);
		next = header[0];
	}
	return false;
}

static bool may_spend(struct router_budget *budget, uint64_t now_tsc)
{
	uint64_t gained = now_tsc - budget->last_tsc;

	if (budget->ticks_each == 0)
		return false;
	budget->last_tsc = now_tsc;
	budget->ticks = RTE_MIN(budget->ticks_most, budget->ticks + gained);
	return budget->ticks >= budget->ticks_each;
}

// Where whoever sent it is; NULL: nowhere, or the router has no address to answer from.
static const struct router_hop *way_back(const struct router *router, const uint8_t *ip, bool is_v6)
{
	uint64_t entry;

	if (is_v6) {
		uint8_t address[1][16];
		memcpy(address[0], ((const struct rte_ipv6_hdr *)ip)->src_addr, 16);
		router_find6(router, address, &entry, 1);
	} else {
		uint32_t address = rte_be_to_cpu_32(((const struct rte_ipv4_hdr *)ip)->src_addr);
		router_find4(router, &address, &entry, 1);
	}
	if (entry < ROUTER_HOPS)
		return NULL;
	const struct router_hop *hop = &router->hops[entry - ROUTER_HOPS];
	return hop->has_address ? hop : NULL;
}

// The frame's new front: room for headers before the first len bytes of the packet. NULL: none.
static uint8_t *make_room(struct rte_mbuf *pkt, uint32_t headers_len, uint32_t len)
{
	if (pkt->nb_segs != 1 || rte_pktmbuf_headroom(pkt) < headers_len ||
		pkt->data_len < RTE_ETHER_HDR_LEN + len)
		return NULL;
	pkt->data_off -= headers_len;
	pkt->data_len = (uint16_t)(RTE_ETHER_HDR_LEN + headers_len + len);
	pkt->pkt_len = pkt->data_len;
	return rte_pktmbuf_mtod(pkt, uint8_t *);
}

static void write_ether(uint8_t *frame, const struct router_hop *hop, uint16_t type)
{
	struct rte_ether_hdr *ether = (struct rte_ether_hdr *)frame;

	ether->dst_addr = hop->destination;
	ether->src_addr = hop->source;
	ether->ether_type = rte_cpu_to_be_16(type);
}

static bool write_ipv4(struct router *router, struct rte_mbuf *pkt, const struct message *message,
	const struct router_hop *hop)
{
	const struct rte_ipv4_hdr old =
		*rte_pktmbuf_mtod_offset(pkt, const struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
	const uint32_t headers_len = sizeof(old) + ICMP_LEN;
	const uint32_t quoted =
		RTE_MIN(rte_be_to_cpu_16(old.total_length), MOST_IPV4 - headers_len);
	uint8_t *frame = make_room(pkt, headers_len, quoted);

	if (frame == NULL)
		return false;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + RTE_ETHER_HDR_LEN);
	struct rte_icmp_hdr *icmp = (struct rte_icmp_hdr *)(ip + 1);
	write_ether(frame, hop, RTE_ETHER_TYPE_IPV4);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = (old.type_of_service & KEPT_TOS) | PRECEDENCE,
		.total_length = rte_cpu_to_be_16((uint16_t)(headers_len + quoted)),
		.packet_id = rte_cpu_to_be_16(router->identification++),
		.time_to_live = TTL,
		.next_proto_id = IPPROTO_ICMP,
		.dst_addr = old.src_addr,
	};
	memcpy(&ip->src_addr, hop->address, sizeof(ip->src_addr));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	*icmp = (struct rte_icmp_hdr){.icmp_type = message->type4, .icmp_code = message->code4};
	icmp->icmp_cksum = (uint16_t)~rte_raw_cksum(icmp, ICMP_LEN + quoted);
	return true;
}

static bool write_ipv6(
	struct rte_mbuf *pkt, const struct message *message, const struct router_hop *hop)
{
	const struct rte_ipv6_hdr old =
		*rte_pktmbuf_mtod_offset(pkt, const struct rte_ipv6_hdr *, RTE_ETHER_HDR_LEN);
	const uint32_t headers_len = sizeof(old) + ICMP_LEN;
	const uint32_t quoted =
		RTE_MIN(sizeof(old) + rte_be_to_cpu_16(old.payload_len), MOST_IPV6 - headers_len);
	uint8_t *frame = make_room(pkt, headers_len, quoted);

	if (frame == NULL)
		return false;
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(frame + RTE_ETHER_HDR_LEN);
	struct rte_icmp_hdr *icmp = (struct rte_icmp_hdr *)(ip + 1);
	write_ether(frame, hop, RTE_ETHER_TYPE_IPV6);
	*ip = (struct rte_ipv6_hdr){
		.vtc_flow = RTE_BE32((uint32_t)VERSION_6 << 24),
		.payload_len = rte_cpu_to_be_16((uint16_t)(ICMP_LEN + quoted)),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = TTL,
	};
	memcpy(ip->src_addr, hop->address, sizeof(ip->src_addr));
	memcpy(ip->dst_addr, old.src_addr, sizeof(ip->dst_addr));
	*icmp = (struct rte_icmp_hdr){.icmp_type = message->type6, .icmp_code = message->code6};
	uint32_t sum = rte_ipv6_phdr_cksum(ip, 0) + rte_raw_cksum(icmp, ICMP_LEN + quoted);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	icmp->icmp_cksum = (uint16_t) ~((sum & UINT16_MAX) + (sum >> 16));
	return true;
}

static enum router_answer answer(struct router *router, struct rte_mbuf *pkt,
	const struct message *message, bool is_v6, uint64_t now_tsc)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(pkt, const uint8_t *, RTE_ETHER_HDR_LEN);
	const struct router_hop *hop;

	if (!(is_v6 ? is_allowed6(pkt, (const void *)ip) : is_allowed4(pkt, (const void *)ip)))
		return ROUTER_NOT_ALLOWED;
	if (!may_spend(&router->budget, now_tsc))
		return ROUTER_OVER_RATE;
	hop = way_back(router, ip, is_v6);
	if (hop == NULL ||
		!(is_v6 ? write_ipv6(pkt, message, hop) : write_ipv4(router, pkt, message, hop)))
		return ROUTER_NO_WAY_BACK;
	router->budget.ticks -= router->budget.ticks_each;
	nf_set_egress(pkt, hop->port);
	return ROUTER_ANSWERED;
}

bool router_answer(struct router *router, struct rte_mbuf *pkt, enum router_reason reason,
	bool is_v6, uint64_t now_tsc)
{
	const struct message *message = &messages[reason];

	if (!message->is_sent)
		return false;
	enum router_answer result = answer(router, pkt, message, is_v6, now_tsc);
	router->n_answers[result]++;
	return result == ROUTER_ANSWERED;
}
