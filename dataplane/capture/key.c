#include "key.h"

#include "probe_format.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ETHERTYPE_OFFSET = 12, // just behind the MAC addresses
	ETHER_LEN = 14,
	VLAN_LEN = 4,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	IPV4_MIN_LEN = 20,
	IPV4_TTL = 8,
	IPV4_CHECKSUM = 10,
	IPV6_LEN = 40,
	IPV6_HOP_LIMIT = 7,
	UDP_LEN = 8,
	UDP_CHECKSUM = 6, // UDP-Lite's as well, RFC 3828
	TCP_CHECKSUM = 16,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_UDP_LITE = 136,
	HEAD_LEN = 64, // of the frame, for the default key
	HEAD_KEY_LEN = HEAD_LEN - ETHERTYPE_OFFSET,
	MAX_OFFSET = UINT16_MAX,
};

// An IPv6 extension header is at least 8 bytes long, so that no checksum behind one is part of the
// key: only the protocol in the fixed header needs a look.
static_assert(ETHER_LEN + IPV6_LEN + 8 + UDP_CHECKSUM >= HEAD_LEN, "walk IPv6 extension headers");

static uint32_t be16(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

static void set_spec(struct key_spec *spec, enum key_kind kind, size_t n_bytes, size_t frame_bytes)
{
	spec->kind = kind;
	spec->n_bytes = (uint32_t)n_bytes;
	spec->stride = (spec->n_bytes + (uint32_t)sizeof(uint32_t) + 7) & ~UINT32_C(7);
	spec->frame_bytes = (uint32_t)frame_bytes;
}

static const char ranges_help[] =
	"write default, routed, probe or frame offsets, each with a mask if wanted: "
	"26-33,42-45/ffff0000";

// One offset; moves *at behind it. Returns -1 if there is none.
static int32_t parse_offset(const char **at)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return -1;
	unsigned long offset = strtoul(*at, &end, 10);
	*at = end;
	return offset <= MAX_OFFSET ? (int32_t)offset : -1;
}

static int hex_digit(char digit)
{
	if (!isxdigit((unsigned char)digit))
		return -1;
	return isdigit((unsigned char)digit) ? digit - '0'
					     : tolower((unsigned char)digit) - 'a' + 10;
}

// Exactly n_bytes of two digits each; moves *at behind them.
static const char *parse_mask(const char **at, uint8_t *mask, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++) {
		int high = hex_digit((*at)[0]);
		int low = high < 0 ? -1 : hex_digit((*at)[1]);

		if (low < 0)
			return "the mask has fewer than two hex digits a byte";
		mask[i] = (uint8_t)(high << 4 | low);
		*at += 2;
	}
	return hex_digit(**at) < 0 ? NULL : "the mask has more than two hex digits a byte";
}

// Append one range to out; moves *at behind it. Returns what is wrong, NULL if nothing is.
static const char *parse_range(const char **at, struct key_spec *out)
{
	int32_t first = parse_offset(at);
	int32_t last = first;

	if (first >= 0 && **at == '-') {
		(*at)++;
		last = parse_offset(at);
	}
	if (first < 0 || last < 0)
		return "an offset from 0 to 65535 is wanted";
	if (last < first)
		return "the range ends before it begins";
	if (out->n_ranges == KEY_MAX_RANGES)
		return "more than 16 ranges";
	size_t len = (size_t)(last - first) + 1;
	if (out->n_bytes + len > KEY_MAX_BYTES)
		return "more than 124 bytes";
	uint8_t *mask = out->mask + out->n_bytes;
	memset(mask, 0xff, len);
	out->ranges[out->n_ranges++] = (struct key_range){(uint16_t)first, (uint16_t)last};
	size_t frame_bytes = (size_t)last + 1;
	set_spec(out, KEY_RANGES, out->n_bytes + len,
		frame_bytes > out->frame_bytes ? frame_bytes : out->frame_bytes);
	if (**at != '/')
		return NULL;
	(*at)++;
	return parse_mask(at, mask, len);
}

static int parse_ranges(const char *text, struct key_spec *out, struct error *error)
{
	const char *at = text;
	const char *range, *wrong;

	do {
		range = at;
		wrong = parse_range(&at, out);
		if (wrong == NULL && *at != ',' && *at != '\0')
			wrong = "a comma or the end is wanted behind a range";
	} while (wrong == NULL && *at++ == ',');
	if (wrong == NULL)
		return 0;
	error_set(error, "key \"%.60s\": \"%.*s\" at character %zu: %s; %s", text,
		(int)strcspn(range, ","), range, (size_t)(range - text) + 1, wrong, ranges_help);
	return -EINVAL;
}

int key_spec_parse(const char *text, struct key_spec *out, struct error *error)
{
	memset(out, 0, sizeof(*out));
	memset(out->mask, 0xff, sizeof(out->mask));
	if (text == NULL || strcmp(text, "default") == 0)
		set_spec(out, KEY_DEFAULT, HEAD_KEY_LEN, HEAD_LEN);
	else if (strcmp(text, "routed") == 0)
		set_spec(out, KEY_ROUTED, HEAD_KEY_LEN, HEAD_LEN);
	else if (strcmp(text, "probe") == 0)
		set_spec(out, KEY_PROBE, PROBE_ID_LEN, PROBE_OFFSET + PROBE_ID_LEN);
	else
		return parse_ranges(text, out, error);
	return 0;
}

// Append to text, which holds used bytes; what does not fit is cut off.
__attribute__((format(printf, 4, 5))) static size_t append(
	char *text, size_t len, size_t used, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text + used, len - used, format, args);
	va_end(args);
	return n < 0 ? used : used + (size_t)n < len ? used + (size_t)n : len - 1;
}

static void ranges_text(const struct key_spec *spec, char *text, size_t len)
{
	const uint8_t *mask = spec->mask;
	size_t used = 0;

	for (size_t i = 0; i < spec->n_ranges; i++) {
		const struct key_range *range = &spec->ranges[i];
		size_t n_bytes = (size_t)range->last - range->first + 1;
		bool masked = false;

		for (size_t j = 0; j < n_bytes; j++)
			masked = masked || mask[j] != 0xff;
		used = append(text, len, used, "%s%u-%u%s", i > 0 ? "," : "", range->first,
			range->last, masked ? "/" : "");
		for (size_t j = 0; masked && j < n_bytes; j++)
			used = append(text, len, used, "%02x", mask[j]);
		mask += n_bytes;
	}
}

void key_spec_text(const struct key_spec *spec, char *text, size_t len)
{
	static const char *const words[] = {
		[KEY_DEFAULT] = "default",
		[KEY_ROUTED] = "routed",
		[KEY_PROBE] = "probe",
	};

	if (len == 0)
		return;
	text[0] = '\0';
	if (spec->kind == KEY_RANGES)
		ranges_text(spec, text, len);
	else
		append(text, len, 0, "%s", words[spec->kind]);
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

// Default and routed, of any frame. Not inlined: the common frame is to stay short.
__attribute__((noinline)) static bool extract_head(
	const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key)
{
	uint32_t n = smaller(frame->wire_len, HEAD_LEN);
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

__attribute__((noinline)) static bool extract_probe(
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
__attribute__((noinline)) static bool extract_ranges(
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

// Whether nothing has to be looked for: 64 bytes of IPv4 without tags and options, TCP or UDP.
static inline bool is_plain(const struct capture_frame *frame)
{
	const uint8_t *data = frame->data;

	if (smaller(frame->cap_len, frame->wire_len) < HEAD_LEN)
		return false;
	if (be16(data + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4 || data[ETHER_LEN] != 0x45)
		return false;
	uint8_t protocol = data[ETHER_LEN + 9];
	return has_transport(data + ETHER_LEN) &&
	       (protocol == PROTOCOL_UDP || protocol == PROTOCOL_TCP);
}

// What is zeroed in the key of a plain frame, for [routed][TCP], in words of little-endian bytes:
// bytes 12 and 13 (IPv4 checksum), 10 (TTL), 28 and 29 (UDP checksum), 38 and 39 (TCP checksum).
static const uint64_t plain_zeroed[2][2][HEAD_KEY_LEN / 8] = {
	{
		{[1] = 0x0000ffff00000000, [3] = 0x0000ffff00000000},
		{[1] = 0x0000ffff00000000, [4] = 0xffff000000000000},
	},
	{
		{[1] = 0x0000ffff00ff0000, [3] = 0x0000ffff00000000},
		{[1] = 0x0000ffff00ff0000, [4] = 0xffff000000000000},
	},
};

// Words are stored whole and once: a hash taken at once would have to wait for shorter stores.
static inline void extract_plain(
	const struct key_spec *spec, const uint8_t *data, uint8_t *restrict key)
{
	bool is_tcp = data[ETHER_LEN + 9] == PROTOCOL_TCP;
	const uint64_t *zeroed = plain_zeroed[spec->kind == KEY_ROUTED][is_tcp];
	const uint8_t *plain = data + ETHERTYPE_OFFSET;
	uint64_t word;
	uint32_t tail;

	for (size_t i = 0; i < HEAD_KEY_LEN / sizeof(word); i++) {
		memcpy(&word, plain + i * sizeof(word), sizeof(word));
		word &= ~zeroed[i];
		memcpy(key + i * sizeof(word), &word, sizeof(word));
	}
	memcpy(&tail, plain + HEAD_KEY_LEN - sizeof(tail), sizeof(tail));
	word = tail | (uint64_t)HEAD_KEY_LEN << 32;
	memcpy(key + HEAD_KEY_LEN - sizeof(tail), &word, sizeof(word));
}

bool key_extract(const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key)
{
	if (spec->kind == KEY_RANGES)
		return extract_ranges(spec, frame, key);
	if (spec->kind == KEY_PROBE)
		return extract_probe(spec, frame, key);
	if (!is_plain(frame))
		return extract_head(spec, frame, key);
	extract_plain(spec, frame->data, key);
	return true;
}
