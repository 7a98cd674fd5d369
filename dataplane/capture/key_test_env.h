#pragma once

// What the tests of keys share: frames made by hand, and extraction that sees a byte too many.

#include "error.h"
#include "key_fast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	ROOM = 256, // bytes of a key and of canary behind it
	CANARY = 0xcd,
	FRAME_LEN = 100,
};

static inline struct key_spec parse(const char *text)
{
	struct key_spec spec;
	struct error error = {0};

	if (key_spec_parse(text, &spec, &error) < 0)
		fail_msg("%s", error.text);
	return spec;
}

static inline void put_be16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

// Put tags and the start of an IPv4 header into a filled frame; returns where the header begins.
static inline size_t put_ipv4(uint8_t *frame, size_t n_tags, uint8_t words, uint8_t protocol)
{
	static const uint16_t tags[] = {0x88a8, 0x8100, 0x9100};
	size_t at = 12;

	for (size_t i = 0; i < n_tags; i++, at += 4)
		put_be16(frame + at, tags[i % 3]);
	put_be16(frame + at, 0x0800);
	at += 2;
	frame[at] = (uint8_t)(0x40 | words);
	put_be16(frame + at + 6, 0x4000);
	frame[at + 9] = protocol;
	return at;
}

// Extract from bytes of exactly cap_len, so that a sanitizer sees a read beyond them; both ways.
static inline bool extract(const struct key_spec *spec, const uint8_t *frame, uint32_t cap_len,
	uint32_t wire_len, uint8_t key[ROOM])
{
	uint8_t *copy = malloc(cap_len > 0 ? cap_len : 1);
	uint8_t fast[ROOM];
	const struct capture_frame captured = {
		.data = copy, .cap_len = cap_len, .wire_len = wire_len};

	assert_non_null(copy);
	memcpy(copy, frame, cap_len);
	memset(key, CANARY, ROOM);
	memset(fast, CANARY, ROOM);
	bool found = key_extract(spec, &captured, key);
	assert_int_equal(key_extract_fast(spec, &captured, fast), found);
	assert_memory_equal(fast, key, ROOM);
	for (size_t i = found ? spec->stride : 0; i < ROOM; i++)
		assert_int_equal(key[i], CANARY);
	free(copy);
	return found;
}
