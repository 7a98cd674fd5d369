#pragma once

// For the tests of this folder: builds captures byte by byte and reads them back.

#include "capture_priv.h"
#include "error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	TEST_PCAP_US = 0xa1b2c3d4,
	TEST_PCAP_NS = 0xa1b23c4d,
	TEST_PCAP_HEADER = 24,
	TEST_RECORD_HEADER = 16,
	TEST_MAX_FRAMES = 4096,
};

struct bytes {
	uint8_t *at;
	size_t len, room;
	bool is_swapped;
};

static inline void put(struct bytes *bytes, const void *data, size_t len)
{
	if (bytes->len + len > bytes->room) {
		bytes->room = 2 * (bytes->len + len);
		bytes->at = realloc(bytes->at, bytes->room);
		assert_non_null(bytes->at);
	}
	if (len > 0)
		memcpy(bytes->at + bytes->len, data, len);
	bytes->len += len;
}

static inline void put_u32(struct bytes *bytes, uint32_t value)
{
	value = bytes->is_swapped ? __builtin_bswap32(value) : value;
	put(bytes, &value, sizeof(value));
}

static inline void put_u64(struct bytes *bytes, uint64_t value)
{
	value = bytes->is_swapped ? __builtin_bswap64(value) : value;
	put(bytes, &value, sizeof(value));
}

static inline void put_u16(struct bytes *bytes, uint16_t value)
{
	value = bytes->is_swapped ? __builtin_bswap16(value) : value;
	put(bytes, &value, sizeof(value));
}

// Every frame's bytes follow from its length and its mark, so a reader can tell them again.
static inline uint8_t frame_byte(uint32_t mark, size_t i)
{
	return (uint8_t)(0x80 | (mark * 31 + i * 7));
}

static inline void put_frame_bytes(struct bytes *bytes, uint32_t mark, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint8_t byte = frame_byte(mark, i);
		put(bytes, &byte, 1);
	}
}

static inline void put_pcap_header(
	struct bytes *bytes, uint32_t magic, uint32_t snaplen, uint32_t link_type)
{
	put_u32(bytes, magic);
	put_u16(bytes, 2);
	put_u16(bytes, 4);
	put_u32(bytes, 0);
	put_u32(bytes, 0);
	put_u32(bytes, snaplen);
	put_u32(bytes, link_type);
}

static inline void put_record(struct bytes *bytes, uint32_t s, uint32_t fraction, uint32_t mark,
	uint32_t cap_len, uint32_t wire_len)
{
	put_u32(bytes, s);
	put_u32(bytes, fraction);
	put_u32(bytes, cap_len);
	put_u32(bytes, wire_len);
	put_frame_bytes(bytes, mark, cap_len);
}

// n records of 100 bytes, 1 us apart from second 1000 on, marked from 0.
static inline struct bytes pcap_of(size_t n)
{
	struct bytes bytes = {0};

	put_pcap_header(&bytes, TEST_PCAP_NS, 262144, 1);
	for (uint32_t i = 0; i < n; i++)
		put_record(&bytes, 1000, i * 1000, i, 100, 100);
	return bytes;
}

// Where record i of pcap_of begins.
static inline size_t record_at(size_t i)
{
	return TEST_PCAP_HEADER + i * (TEST_RECORD_HEADER + 100);
}

struct given {
	int64_t ts_ns;
	uint32_t cap_len, wire_len;
	uint8_t first; // byte of the frame
};

struct outcome {
	size_t n;
	struct given frames[TEST_MAX_FRAMES];
	struct capture_report report;
};

// Reads to the end, closes, and frees bytes. Frames hold what frame_byte says, by their first byte.
static inline struct outcome *drain(struct capture *capture)
{
	static struct outcome outcome;
	struct capture_frame frames[64];
	size_t n;

	outcome.n = 0;
	while ((n = capture_read(capture, frames, 64)) > 0) {
		for (size_t i = 0; i < n; i++) {
			const struct capture_frame *frame = &frames[i];
			uint8_t first = frame->cap_len > 0 ? frame->data[0] : 0;
			for (uint32_t k = 0; k < frame->cap_len; k++)
				if (frame->data[k] != (uint8_t)(0x80 | (first + k * 7)))
					fail_msg("frame %zu byte %u", outcome.n, k);
			assert_true(outcome.n < TEST_MAX_FRAMES);
			outcome.frames[outcome.n++] = (struct given){
				frame->ts_ns, frame->cap_len, frame->wire_len, first};
		}
	}
	assert_int_equal(capture_read(capture, frames, 64), 0);
	outcome.report = *capture_report(capture);
	assert_int_equal(outcome.report.n_frames, outcome.n);
	capture_close(capture);
	return &outcome;
}

// Through blocks of block_bytes.
static inline struct outcome *read_bytes(struct bytes *bytes, size_t block_bytes)
{
	struct byte_source *source;
	struct capture *capture;
	struct error error = {0};

	assert_int_equal(byte_source_memory(bytes->at, bytes->len, block_bytes, &source), 0);
	if (capture_open_source(source, "test", &capture, &error) < 0)
		fail_msg("%s", error.text);
	struct outcome *outcome = drain(capture);
	free(bytes->at);
	return outcome;
}

// What capture_open_source answers, and its line; frees bytes.
static inline int refuse_bytes(struct bytes *bytes, struct error *error)
{
	struct byte_source *source;
	struct capture *capture;
	int err;

	assert_int_equal(byte_source_memory(bytes->at, bytes->len, 4096, &source), 0);
	err = capture_open_source(source, "test", &capture, error);
	capture_close(capture);
	free(bytes->at);
	return err;
}

static inline void assert_note(const struct outcome *outcome, enum capture_note_kind kind,
	uint64_t count, uint64_t offset, uint64_t detail)
{
	const struct capture_note *note = &outcome->report.notes[kind];

	assert_int_equal(note->count, count);
	assert_int_equal(note->first_offset, offset);
	assert_int_equal(note->detail, detail);
}

// No note but the ones named, whose bits are set.
static inline void assert_only(const struct outcome *outcome, unsigned kinds)
{
	for (unsigned kind = 0; kind < N_CAPTURE_NOTES; kind++)
		if ((outcome->report.notes[kind].count > 0) != ((kinds >> kind & 1) != 0))
			fail_msg("%s: %lu", capture_note_name(kind),
				(unsigned long)outcome->report.notes[kind].count);
}

static inline void flip(struct bytes *bytes, size_t offset, uint32_t mask)
{
	uint32_t word;

	assert_true(offset + sizeof(word) <= bytes->len);
	memcpy(&word, bytes->at + offset, sizeof(word));
	word ^= bytes->is_swapped ? __builtin_bswap32(mask) : mask;
	memcpy(bytes->at + offset, &word, sizeof(word));
}
