#include "key.h"

#include "probe_format.h"

#include <assert.h>
#include <string.h>

enum {
	ETHERTYPE_OFFSET = 12, // just behind the MAC addresses
	ETHER_LEN = 14,
	VLAN_LEN = 4,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	IPV4_MIN_LEN = 20,
	IPV4_TOTAL_LEN = 2,
	IPV4_TTL = 8,
	IPV4_CHECKSUM = 10,
	IPV6_LEN = 40,
	IPV6_PAYLOAD_LEN = 4,
	IPV6_HOP_LIMIT = 7,
	UDP_LEN = 8,
	UDP_CHECKSUM = 6, // UDP-Lite's as well, RFC 3828
	TCP_CHECKSUM = 16,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_UDP_LITE = 136,
};

// An IPv6 extension header is at least 8 bytes long, so that no checksum behind one is part of the
// key: only the protocol in the fixed header needs a look.
static_assert(
	ETHER_LEN + IPV6_LEN + 8 + UDP_CHECKSUM >= KEY_HEAD_LEN, "walk IPv6 extension headers");

static uint32_t be16(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void put_length(const struct key_spec *spec, uint8_t *key, uint32_t n_bytes)
{
	memcpy(key + spec->stride - sizeof(n_bytes), &n_bytes, sizeof(n_bytes));
}

// Walk the tags. Returns the EtherType behind them and in *at where its header begins; 0 if the n
// bytes end before.
static uint32_t find_network(const uint8_t *data, uint32_t n, uint32_t *at)
{
	for (uint32_t i = ETHERTYPE_OFFSET; i + 2 <= n; i += VLAN_LEN) {
		uint32_t type = be16(data + i);

		if (type != 0x8100 && type != 0x88a8 && type != 0x9100) {
			*at = i + 2;
			return type;
		}
	}
	return 0;
}

// The length of the IPv4 header at data + at; 0 if there is none.
static uint32_t ipv4_len(const uint8_t *data, uint32_t n, uint32_t at)
{
	if (at >= n || data[at] >> 4 != 4)
		return 0;
	uint32_t len = (data[at] & 0xfU) * 4;
	return len >= IPV4_MIN_LEN ? len : 0;
}

// Whether the header of protocol follows the IPv4 header at ip; a later fragment has none.
static bool has_transport(const uint8_t *ip)
{
	return (be16(ip + 6) & 0x1fff) == 0;
}

// Zero len bytes of the key at a frame offset, as far as the n bytes of the frame go.
static void zero(uint8_t *key, uint32_t n, uint32_t at, uint32_t len)
{
	for (uint32_t i = at; i < n && i < at + len; i++)
		key[i - ETHERTYPE_OFFSET] = 0;
}

static void zero_transport(uint8_t *key, uint32_t n, uint32_t at, uint8_t protocol)
{
	if (protocol == PROTOCOL_UDP || protocol == PROTOCOL_UDP_LITE)
		zero(key, n, at + UDP_CHECKSUM, 2);
	else if (protocol == PROTOCOL_TCP)
		zero(key, n, at + TCP_CHECKSUM, 2);
}

static void zero_ipv4(uint8_t *key, const uint8_t *data, uint32_t n, uint32_t at, bool routed)
{
	uint32_t len = ipv4_len(data, n, at);

	if (len == 0)
		return;
	zero(key, n, at + IPV4_CHECKSUM, 2);
	if (routed)
		zero(key, n, at + IPV4_TTL, 1);
	if (at + IPV4_CHECKSUM <= n && has_transport(data + at))
		zero_transport(key, n, at + len, data[at + 9]);
}

static void zero_ipv6(uint8_t *key, const uint8_t *data, uint32_t n, uint32_t at, bool routed)
{
	if (at >= n || data[at] >> 4 != 6)
		return;
	if (routed)
		zero(key, n, at + IPV6_HOP_LIMIT, 1);
	if (at + IPV6_HOP_LIMIT <= n)
		zero_transport(key, n, at + IPV6_LEN, data[at + 6]);
}

// Default and routed, and network without its tags, of any frame.
static bool extract_head(
	const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key)
{
	uint32_t n = smaller(frame->wire_len, KEY_HEAD_LEN);
	uint32_t n_key = n > ETHERTYPE_OFFSET ? n - ETHERTYPE_OFFSET : 0;
	bool routed = spec->kind == KEY_ROUTED;
	uint32_t at = 0;

	if (frame->cap_len < n)
		return false;
	memset(key, 0, spec->stride);
	memcpy(key, frame->data + (n - n_key), n_key);
	uint32_t type = find_network(frame->data, n, &at);
	if (type == ETHERTYPE_IPV4)
		zero_ipv4(key, frame->data, n, at, routed);
	else if (type == ETHERTYPE_IPV6)
		zero_ipv6(key, frame->data, n, at, routed);
	put_length(spec, key, n_key);
	return true;
}

// Where the IP packet of an untagged frame ends, in front of any padding; else the frame's end.
static uint32_t packet_end(const struct capture_frame *frame)
{
	const uint8_t *ip = frame->data + ETHER_LEN;

	if (frame->cap_len < ETHER_LEN + IPV6_PAYLOAD_LEN + 2)
		return frame->wire_len;
	uint32_t type = be16(frame->data + ETHERTYPE_OFFSET);
	if (type == ETHERTYPE_IPV4 && be16(ip + IPV4_TOTAL_LEN) >= IPV4_MIN_LEN)
		return smaller(frame->wire_len, ETHER_LEN + be16(ip + IPV4_TOTAL_LEN));
	if (type == ETHERTYPE_IPV6 && be16(ip + IPV6_PAYLOAD_LEN) > 0)
		return smaller(frame->wire_len, ETHER_LEN + IPV6_LEN + be16(ip + IPV6_PAYLOAD_LEN));
	return frame->wire_len;
}

// Without the tags a frame is as if it began that much later: its first 12 bytes are not looked at.
static bool extract_network(
	const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key)
{
	uint32_t at = 0;

	find_network(frame->data, smaller(frame->cap_len, frame->wire_len), &at);
	if (at == 0 && frame->cap_len < frame->wire_len)
		return false;
	uint32_t tags_len = at > ETHER_LEN ? at - ETHER_LEN : 0;
	struct capture_frame untagged = {
		.data = frame->data + tags_len,
		.cap_len = frame->cap_len - tags_len,
		.wire_len = frame->wire_len - tags_len,
	};
	untagged.wire_len = packet_end(&untagged);
	return extract_head(spec, &untagged, key);
}

static bool extract_probe(
	const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key)
{
	const uint8_t *data = frame->data;
	uint32_t n = smaller(frame->cap_len, frame->wire_len);
	uint32_t at = 0;

	if (find_network(data, n, &at) != ETHERTYPE_IPV4)
		return false;
	uint32_t len = ipv4_len(data, n, at);
	uint32_t probe = at + len + UDP_LEN;
	if (len == 0 || probe + PROBE_ID_LEN > n)
		return false;
	if (data[at + 9] != PROTOCOL_UDP || !has_transport(data + at))
		return false;
	if ((data[probe] | data[probe + 1] << 8) != PROBE_MAGIC)
		return false;
	memset(key, 0, spec->stride);
	memcpy(key, data + probe, PROBE_ID_LEN);
	put_length(spec, key, PROBE_ID_LEN);
	return true;
}

// Ranges that a short frame does not reach add nothing. Keys of one length are of the same bytes
// all the same: what exists only grows with the frame.
static bool extract_ranges(
	const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key)
{
	uint32_t n = smaller(frame->wire_len, spec->frame_bytes);
	const uint8_t *mask = spec->mask;
	uint32_t n_key = 0;

	if (frame->cap_len < n)
		return false;
	memset(key, 0, spec->stride);
	for (size_t i = 0; i < spec->n_ranges; i++) {
		uint32_t first = spec->ranges[i].first;
		uint32_t last = spec->ranges[i].last;

		for (uint32_t j = first; j <= last && j < n; j++)
			key[n_key++] = frame->data[j] & mask[j - first];
		mask += last - first + 1;
	}
	put_length(spec, key, n_key);
	return true;
}

bool key_extract(const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key)
{
	if (spec->kind == KEY_RANGES)
		return extract_ranges(spec, frame, key);
	if (spec->kind == KEY_NETWORK)
		return extract_network(spec, frame, key);
	if (spec->kind == KEY_PROBE)
		return extract_probe(spec, frame, key);
	return extract_head(spec, frame, key);
}
