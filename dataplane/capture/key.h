#pragma once

// What makes two captured frames the same packet: some bytes of it, in full. The default is the
// published pipeline's (docs/matching.md): the first 64 bytes without the MAC addresses, with the
// IPv4 header checksum and the TCP, UDP or UDP-Lite checksum zeroed. A stack of VLAN tags (0x8100,
// 0x88a8, 0x9100) and IPv4 options are walked to find them; a fragment other than the first has no
// checksum but IPv4's. ICMP's and SCTP's stay: forwarding changes nothing they cover. What has no
// sound IPv4 or IPv6 header stays as it is.

#include "capture.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KEY_MAX_BYTES = 124, // so that key and length fit 128
	KEY_MAX_RANGES = 16,
	KEY_TEXT_LEN = 512,
	KEY_HEAD_LEN = 64, // of the frame, for the default key
	KEY_HEAD_BYTES = 52, // of it in the key: all but the MAC addresses
	KEY_NETWORK_LEN = 34, // Ethernet's header and the shortest of IPv4
};

struct key_range {
	uint16_t first, last; // frame offsets, both included
};

enum key_kind {
	KEY_DEFAULT, // first 64 bytes without MACs, checksums zeroed
	KEY_ROUTED, // the same without the TTL (IPv4) or hop limit (IPv6): the device routes
	KEY_NETWORK, // the default as if there were no VLAN tags, and nothing behind an IP packet
	KEY_PROBE, // taut's own probe header: run id, direction and sequence number
	KEY_RANGES, // bytes of the frame as given, ANDed with mask
};

// Filled by key_spec_parse; plain data.
struct key_spec {
	enum key_kind kind;
	struct key_range ranges[KEY_MAX_RANGES]; // KEY_RANGES
	size_t n_ranges;
	uint8_t mask[KEY_MAX_BYTES]; // one byte a key byte; 0xff where nothing is masked
	uint32_t n_bytes; // the longest key: 52 for the default
	uint32_t stride; // bytes of a stored key: n_bytes and a u32 length, rounded up to 8; 56
	uint32_t frame_bytes; // bytes of the frame a key needs: 64; tags come on top of a probe's
			      // 54, and of the 34 of the shortest IPv4 packet of KEY_NETWORK
};

// text: "default", "routed", "network", "probe", or frame offsets "26-33,42-45" in any order, each
// with an optional mask in hex digits, two a byte, after a slash: "14-15/0fff"; "23" is "23-23".
// NULL: default. Returns 0 or -EINVAL with one line in error.
int key_spec_parse(const char *text, struct key_spec *out, struct error *error);

// The spec as text that key_spec_parse reads back; KEY_TEXT_LEN bytes hold any.
void key_spec_text(const struct key_spec *spec, char *text, size_t len);

// Hot path. Write spec->stride bytes to key (8-byte aligned): the key's bytes, zeros, and in the
// last four its length (little endian), so that two keys are equal exactly if all stride bytes
// are. False, and nothing written: the file holds fewer bytes of the frame than the key needs
// although the wire had them (truncated), or KEY_PROBE and the frame is no probe.
// A frame that was shorter on the wire has a shorter key.
bool key_extract(const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key);

// Hot path: a hash of a stored key. seed is random, so that no file can be made to collide.
static inline uint64_t key_hash(const uint8_t *key, uint32_t stride, uint64_t seed)
{
	uint64_t hash = seed;

	// Multiply and fold, one 64-bit word at a time; two chains, so that products overlap.
	uint64_t other = seed ^ UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = 0;
	for (; i + 16 <= stride; i += 16) {
		uint64_t a, b;
		__builtin_memcpy(&a, key + i, 8);
		__builtin_memcpy(&b, key + i + 8, 8);
		__uint128_t x = (__uint128_t)(hash ^ a) * UINT64_C(0xa0761d6478bd642f);
		__uint128_t y = (__uint128_t)(other ^ b) * UINT64_C(0xe7037ed1a0b428db);
		hash = (uint64_t)x ^ (uint64_t)(x >> 64);
		other = (uint64_t)y ^ (uint64_t)(y >> 64);
	}
	if (i < stride) {
		uint64_t a;
		__builtin_memcpy(&a, key + i, 8);
		hash ^= a;
	}
	__uint128_t z = (__uint128_t)(hash ^ UINT64_C(0x8ebc6af09c88c6e3)) *
			(other ^ UINT64_C(0x589965cc75374cc3));
	return (uint64_t)z ^ (uint64_t)(z >> 64);
}
