#include "firewall_packet.h"

#include "nf.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include <netinet/in.h>
#include <string.h>

enum {
	TAGS_MAX = 2, // of VLANs
	EXTENSIONS_MAX = 8, // headers between IPv6's and the next protocol's
	TCP_LEN = 20,
	UDP_LEN = 8,
	ICMP_LEN = 8,
	FRAGMENT_LEN = 8,
	ICMP_TYPE_LAST = 18,
};

// Bytes that are left, and where.
struct span {
	const uint8_t *at;
	uint32_t len;
};

// The header behind IP's.
struct upper {
	struct span span;
	uint8_t protocol;
	bool is_fragment, is_later; // later: there is no header of that protocol in it
};

static inline uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline void skip(struct span *span, uint32_t len)
{
	span->at += len;
	span->len -= len;
}

// Behind the tags. Returns the EtherType, host order; 0: none.
static uint16_t read_ether(struct span *span)
{
	if (span->len < RTE_ETHER_HDR_LEN)
		return 0;
	uint16_t type = be16(span->at + 12);
	skip(span, RTE_ETHER_HDR_LEN);
	for (int i = 0; i < TAGS_MAX; i++) {
		if (type != RTE_ETHER_TYPE_VLAN && type != RTE_ETHER_TYPE_QINQ)
			break;
		if (span->len < 4)
			return 0;
		type = be16(span->at + 2);
		skip(span, 4);
	}
	return type;
}

// whole: the packet has to be there to its end, as it has not where an ICMP error quotes it.
static bool read_ipv4(
	struct span span, bool whole, uint8_t *saddr, uint8_t *daddr, struct upper *upper)
{
	if (span.len < sizeof(struct rte_ipv4_hdr) || span.at[0] >> 4 != 4)
		return false;
	uint32_t header_len = (span.at[0] & 15U) * 4, total_len = be16(span.at + 2);
	uint16_t fragment = be16(span.at + 6);
	if (header_len < sizeof(struct rte_ipv4_hdr) || total_len < header_len ||
		header_len > span.len || (whole && total_len > span.len))
		return false;
	memcpy(saddr, span.at + 12, 4);
	memcpy(daddr, span.at + 16, 4);
	upper->protocol = span.at[9];
	upper->is_later = (fragment & RTE_IPV4_HDR_OFFSET_MASK) != 0;
	upper->is_fragment = upper->is_later || (fragment & RTE_IPV4_HDR_MF_FLAG) != 0;
	// What the link padded is no part of the packet.
	span.len = RTE_MIN(span.len, total_len);
	skip(&span, header_len);
	upper->span = span;
	return true;
}

// How long an extension header is; 0: it is none, and the next protocol begins here.
static uint32_t extension_len(uint8_t protocol, const uint8_t *at)
{
	switch (protocol) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return 8U + at[1] * 8U;
	case IPPROTO_AH:
		return 8U + at[1] * 4U;
	case IPPROTO_FRAGMENT:
		return FRAGMENT_LEN;
	default:
		return 0;
	}
}

static bool read_extensions(struct upper *upper)
{
	static const uint8_t none[2];

	for (int i = 0; i <= EXTENSIONS_MAX; i++) {
		const uint8_t *at = upper->span.at;
		uint32_t len = extension_len(upper->protocol, upper->span.len >= 2 ? at : none);
		if (len == 0)
			return true;
		if (len > upper->span.len || i == EXTENSIONS_MAX)
			return false;
		if (upper->protocol == IPPROTO_FRAGMENT) {
			uint16_t fragment = be16(at + 2);
			upper->is_later = fragment >> 3 != 0;
			upper->is_fragment |= upper->is_later || (fragment & 1) != 0;
		}
		upper->protocol = at[0];
		skip(&upper->span, len);
		if (upper->is_later)
			return true;
	}
	return false;
}

static bool read_ipv6(
	struct span span, bool whole, uint8_t *saddr, uint8_t *daddr, struct upper *upper)
{
	if (span.len < sizeof(struct rte_ipv6_hdr) || span.at[0] >> 4 != 6)
		return false;
	uint32_t payload_len = be16(span.at + 4);
	if (whole && payload_len > span.len - sizeof(struct rte_ipv6_hdr))
		return false;
	memcpy(saddr, span.at + 8, 16);
	memcpy(daddr, span.at + 24, 16);
	upper->protocol = span.at[6];
	skip(&span, sizeof(struct rte_ipv6_hdr));
	span.len = RTE_MIN(span.len, payload_len);
	upper->span = span;
	return read_extensions(upper);
}

static void set_key(struct packet *packet, const struct packet_fields *fields, uint8_t protocol,
	rte_be16_t sport, rte_be16_t dport, bool source_first)
{
	struct connection_key *key = &packet->key;
	const uint8_t *first = source_first ? fields->saddr : fields->daddr;
	const uint8_t *second = source_first ? fields->daddr : fields->saddr;

	packet->from_second = !source_first;
	memset(key, 0, sizeof(*key));
	memcpy(key->first, first, packet->is_ipv6 ? 16 : 4);
	memcpy(key->second, second, packet->is_ipv6 ? 16 : 4);
	key->first_port = source_first ? sport : dport;
	key->second_port = source_first ? dport : sport;
	key->protocol = protocol;
	key->family = packet->is_ipv6 ? 6 : 4;
}

// The key of a flow, the same in both directions.
static void set_flow(struct packet *packet, const struct packet_fields *fields, uint8_t protocol,
	rte_be16_t sport, rte_be16_t dport)
{
	int order = memcmp(fields->saddr, fields->daddr, packet->is_ipv6 ? 16 : 4);

	if (order == 0)
		order = memcmp(&sport, &dport, sizeof(sport));
	set_key(packet, fields, protocol, sport, dport, order <= 0);
	packet->track = TRACK_FLOW;
}

// The type that asks for what this type answers, or this one if it asks; -1: neither.
static int icmp_request(bool is_ipv6, uint8_t type)
{
	if (is_ipv6 && (type == 139 || type == 140)) // information about a node (RFC 4620)
		return 139;
	if (is_ipv6)
		return type == 128 || type == 129 ? 128 : -1;
	if (type == 0 || type == 8)
		return 8;
	return type >= 13 && type <= ICMP_TYPE_LAST ? (type - 1) / 2 * 2 + 1 : -1;
}

static bool is_icmp(bool is_ipv6, uint8_t protocol)
{
	return protocol == (is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
}

// The connection that the header belongs to. fields has its addresses. False: to none.
static bool find_flow(
	struct packet *packet, const struct packet_fields *fields, const struct upper *upper)
{
	const uint8_t *at = upper->span.at;
	rte_be16_t ports[2] = {0, 0};

	// Where IPv6 says that nothing follows, there is nothing to track.
	if (upper->is_later || (packet->is_ipv6 && upper->protocol == IPPROTO_NONE))
		return false;
	if (is_icmp(packet->is_ipv6, upper->protocol)) {
		int request =
			upper->span.len < ICMP_LEN ? -1 : icmp_request(packet->is_ipv6, at[0]);
		if (request < 0)
			return false;
		memcpy(ports, at + 4, sizeof(ports[0])); // the identifier
		set_key(packet, fields, upper->protocol, ports[0], ports[0], at[0] == request);
		packet->key.type = (uint8_t)request;
		packet->key.code = at[1];
		packet->track = at[0] == request ? TRACK_FLOW : TRACK_ANSWER;
		return true;
	}
	if (upper->protocol == IPPROTO_TCP || upper->protocol == IPPROTO_UDP) {
		if (upper->span.len < sizeof(ports))
			return false;
		memcpy(ports, at, sizeof(ports));
	}
	set_flow(packet, fields, upper->protocol, ports[0], ports[1]);
	return true;
}

// An error quotes the packet it is about, which its receiver has sent.
static void find_quoted(struct packet *packet, const struct upper *upper)
{
	struct packet_fields quoted = {0};
	struct upper inner = {0};
	struct span span = upper->span;
	size_t address_len = packet->is_ipv6 ? 16 : 4;

	skip(&span, ICMP_LEN);
	bool is_read = packet->is_ipv6 ? read_ipv6(span, false, quoted.saddr, quoted.daddr, &inner)
				       : read_ipv4(span, false, quoted.saddr, quoted.daddr, &inner);
	if (is_read && memcmp(quoted.saddr, packet->fields.daddr, address_len) == 0 &&
		find_flow(packet, &quoted, &inner))
		packet->track = TRACK_ERROR;
}

static bool is_icmp_error(bool is_ipv6, uint8_t type)
{
	if (is_ipv6)
		return type < 128;
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

// Multicast listeners, routers and neighbours (RFC 2710, 3810, 4861), but for redirects, which no
// router passes on: nobody answers what was asked.
static bool is_untracked(uint8_t type)
{
	return (type >= 130 && type <= 136) || type == 143;
}

// The sets of flags that make sense; pushing and congestion do not matter.
static bool are_sound_flags(uint8_t flags)
{
	flags &= RTE_TCP_FIN_FLAG | RTE_TCP_SYN_FLAG | RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG |
		 RTE_TCP_URG_FLAG;
	switch (flags) {
	case RTE_TCP_SYN_FLAG:
	case RTE_TCP_SYN_FLAG | RTE_TCP_URG_FLAG:
	case RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG:
	case RTE_TCP_RST_FLAG:
	case RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG:
	case RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG:
	case RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG | RTE_TCP_URG_FLAG:
	case RTE_TCP_ACK_FLAG:
	case RTE_TCP_ACK_FLAG | RTE_TCP_URG_FLAG:
		return true;
	default:
		return false;
	}
}

// Whether the header is whole and agrees with itself, as a tracker wants it.
static bool is_sound(const struct packet *packet, const struct upper *upper)
{
	const struct span *span = &upper->span;

	if (upper->is_fragment)
		return false;
	if (upper->protocol == IPPROTO_TCP)
		return span->len >= TCP_LEN && (span->at[12] >> 4) * 4U >= TCP_LEN &&
		       (span->at[12] >> 4) * 4U <= span->len && are_sound_flags(span->at[13]);
	if (upper->protocol == IPPROTO_UDP)
		return span->len >= UDP_LEN && be16(span->at + 4) >= UDP_LEN &&
		       be16(span->at + 4) <= span->len;
	if (is_icmp(packet->is_ipv6, upper->protocol))
		return span->len >= ICMP_LEN && (packet->is_ipv6 || span->at[0] <= ICMP_TYPE_LAST);
	return true;
}

static void track(struct packet *packet, const struct upper *upper)
{
	packet->track = TRACK_INVALID;
	if (!is_sound(packet, upper))
		return;
	if (is_icmp(packet->is_ipv6, upper->protocol)) {
		if (is_icmp_error(packet->is_ipv6, upper->span.at[0])) {
			find_quoted(packet, upper);
			return;
		}
		if (packet->is_ipv6 && is_untracked(upper->span.at[0])) {
			packet->track = TRACK_NONE;
			return;
		}
	}
	(void)find_flow(packet, &packet->fields, upper);
}

// What rules compare of the header behind IP's, as far as it is there.
static void read_upper(struct packet_fields *fields, const struct upper *upper, bool is_ipv6)
{
	const struct span *span = &upper->span;

	fields->protocol = upper->protocol;
	if (upper->is_later)
		return;
	if (is_icmp(is_ipv6, upper->protocol)) {
		if (span->len >= 1) {
			fields->has = HAS_TYPE;
			fields->sport = rte_cpu_to_be_16(span->at[0]);
		}
		return;
	}
	if (upper->protocol != IPPROTO_TCP && upper->protocol != IPPROTO_UDP)
		return;
	if (span->len >= 2) {
		fields->has |= HAS_SPORT;
		memcpy(&fields->sport, span->at, 2);
	}
	if (span->len >= 4) {
		fields->has |= HAS_DPORT;
		memcpy(&fields->dport, span->at + 2, 2);
	}
	if (upper->protocol == IPPROTO_TCP && span->len >= 14) {
		fields->has |= HAS_TCP_FLAGS;
		fields->tcp_flags = span->at[13];
	}
}

void packet_parse(const struct rte_mbuf *pkt, struct packet *out)
{
	struct span span = {rte_pktmbuf_mtod(pkt, const uint8_t *), rte_pktmbuf_data_len(pkt)};
	struct upper upper = {0};
	uint16_t type = read_ether(&span);
	bool is_read;

	memset(&out->fields, 0, sizeof(out->fields));
	out->is_ipv6 = type == RTE_ETHER_TYPE_IPV6;
	out->is_fragment = false;
	out->track = TRACK_INVALID;
	if (type == RTE_ETHER_TYPE_IPV4) {
		is_read = read_ipv4(span, true, out->fields.saddr, out->fields.daddr, &upper);
	} else if (out->is_ipv6) {
		is_read = read_ipv6(span, true, out->fields.saddr, out->fields.daddr, &upper);
	} else {
		out->kind = type == RTE_ETHER_TYPE_ARP ? PACKET_ARP : PACKET_OTHER;
		return;
	}
	out->kind = is_read ? PACKET_IP : PACKET_MALFORMED;
	if (!is_read)
		return;
	out->is_fragment = upper.is_fragment;
	out->fields.port = (uint8_t)nf_ingress(pkt);
	read_upper(&out->fields, &upper, out->is_ipv6);
	track(out, &upper);
}
