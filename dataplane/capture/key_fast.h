#pragma once

// key_extract and key_hash of the common frame without a call: IPv4 without tags and options, TCP
// or UDP, and the default key or the routed one.

#include "key.h"

#include <string.h>

enum {
	KEY_PLAIN_TYPE = 12, // of the frame: the EtherType
	KEY_PLAIN_IP = 14,
	KEY_PLAIN_FRAGMENT = KEY_PLAIN_IP + 6,
	KEY_PLAIN_PROTOCOL = KEY_PLAIN_IP + 9,
	KEY_PLAIN_UDP = 17,
	KEY_PLAIN_TCP = 6,
	KEY_PLAIN_STRIDE = 56,
};

// What is zeroed in the key of a plain frame, for [routed][TCP], in words of little-endian bytes:
// bytes 12 and 13 (IPv4 checksum), 10 (TTL), 28 and 29 (UDP checksum), 38 and 39 (TCP checksum).
static const uint64_t key_plain_zeroed[2][2][KEY_HEAD_BYTES / 8] = {
	{
		{[1] = 0x0000ffff00000000, [3] = 0x0000ffff00000000},
		{[1] = 0x0000ffff00000000, [4] = 0xffff000000000000},
	},
	{
		{[1] = 0x0000ffff00ff0000, [3] = 0x0000ffff00000000},
		{[1] = 0x0000ffff00ff0000, [4] = 0xffff000000000000},
	},
};

// Whether nothing has to be looked for: 64 bytes of IPv4 without tags and options, TCP or UDP, not
// a later fragment.
static inline bool key_is_plain(const struct capture_frame *frame)
{
	const uint8_t *data = frame->data;
	uint32_t len = frame->cap_len < frame->wire_len ? frame->cap_len : frame->wire_len;
	uint16_t fragment;
	uint32_t start;

	if (len < KEY_HEAD_LEN)
		return false;
	memcpy(&start, data + KEY_PLAIN_TYPE, sizeof(start));
	memcpy(&fragment, data + KEY_PLAIN_FRAGMENT, sizeof(fragment));
	uint8_t protocol = data[KEY_PLAIN_PROTOCOL];
	// 08 00 45 as they stand, and 13 bits of fragment offset.
	return (start & 0xffffff) == 0x450008 && (fragment & 0xff1f) == 0 &&
	       (protocol == KEY_PLAIN_UDP || protocol == KEY_PLAIN_TCP);
}

// Words are stored whole and once: a hash taken at once would have to wait for shorter stores.
static inline void key_extract_plain(bool routed, const uint8_t *data, uint8_t *restrict key)
{
	bool is_tcp = data[KEY_PLAIN_PROTOCOL] == KEY_PLAIN_TCP;
	const uint64_t *zeroed = key_plain_zeroed[routed][is_tcp];
	const uint8_t *plain = data + KEY_PLAIN_TYPE;
	uint64_t word;
	uint32_t tail;

	for (size_t i = 0; i < KEY_HEAD_BYTES / sizeof(word); i++) {
		memcpy(&word, plain + i * sizeof(word), sizeof(word));
		word &= ~zeroed[i];
		memcpy(key + i * sizeof(word), &word, sizeof(word));
	}
	memcpy(&tail, plain + KEY_HEAD_BYTES - sizeof(tail), sizeof(tail));
	word = tail | (uint64_t)KEY_HEAD_BYTES << 32;
	memcpy(key + KEY_HEAD_BYTES - sizeof(tail), &word, sizeof(word));
}

// Hot path: key_extract.
static inline bool key_extract_fast(
	const struct key_spec *spec, const struct capture_frame *frame, uint8_t *key)
{
	bool is_head = spec->kind == KEY_DEFAULT || spec->kind == KEY_ROUTED;

	if (__builtin_expect(!is_head || !key_is_plain(frame), 0))
		return key_extract(spec, frame, key);
	key_extract_plain(spec->kind == KEY_ROUTED, frame->data, key);
	return true;
}

// Hot path: key_hash. A constant length compiles to a few loads.
static inline uint64_t key_hash_fast(const uint8_t *key, uint32_t stride, uint64_t seed)
{
	return stride == KEY_PLAIN_STRIDE ? key_hash(key, KEY_PLAIN_STRIDE, seed)
					  : key_hash(key, stride, seed);
}
