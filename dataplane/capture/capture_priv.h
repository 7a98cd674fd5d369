#pragma once

// What the readers of pcap.c and pcapng.c share with capture.c.

#include "byte_source.h"
#include "capture.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	// Wireshark and tcpdump write and read Ethernet frames up to this, whatever the file says.
	CAPTURE_USUAL_MAX_LEN = 262144,
	// Beyond it a length is taken for damage, so that damage cannot ask for much memory.
	CAPTURE_MAX_LEN = 16 << 20,
	// How far records are looked for after damage.
	CAPTURE_SEARCH_BYTES = 1 << 20,
	CAPTURE_LINK_ETHERNET = 1,
	CAPTURE_FCS_LEN = 4, // of Ethernet
};

// detail of CAPTURE_OTHER_LINK_TYPE: a frame of an interface that the file does not describe.
static const uint64_t CAPTURE_NO_INTERFACE = UINT64_MAX;

enum record_verdict {
	RECORD_SOUND,
	RECORD_TOO_SHORT, // the window has too little of it, or of what it is judged by
	RECORD_ENDS_EARLY, // so does the file
	RECORD_BROKEN,
};

struct judgement {
	enum record_verdict verdict;
	size_t want; // RECORD_TOO_SHORT: bytes from the record's start on
	bool may_be_wrong; // RECORD_ENDS_EARLY: it may be the length that is damaged
};

// A file format. capture_read asks walk; where it stops, recovery.c judges and goes on.
struct capture_format {
	const char *name; // of the report
	// Read the header at the window's start. Returns 0 or -errno with the end of a line in
	// error
	// ("is ...; remedy"); may end the capture instead (capture_finish).
	int (*open)(struct capture *capture, struct error *error);
	// Hot path. Up to max whole frames of the window; stops in front of a record that is not
	// RECORD_SOUND.
	size_t (*walk)(struct capture *capture, struct capture_frame *frames, size_t max);
	// The record that stands here; at may be anywhere in the window.
	struct judgement (*judge)(const struct capture *capture, const uint8_t *at);
	// Whether records begin here again after damage: RECORD_SOUND, RECORD_TOO_SHORT or
	// RECORD_BROKEN.
	struct judgement (*judge_restart)(const struct capture *capture, const uint8_t *at);
	// Count what is wrong with the record at the window's start. Records begin again n_passed
	// bytes behind; 0: nowhere.
	void (*note_broken)(struct capture *capture, size_t n_passed);
};

extern const struct capture_format capture_pcap;
extern const struct capture_format capture_pcapng;

// Whether a file begins like this format: its first four bytes as a little-endian number.
bool pcap_recognises(uint32_t magic);
bool pcapng_recognises(uint32_t magic);

struct capture {
	struct byte_source *source;
	const struct capture_format *format;
	void *state; // of the format; freed with free()
	bool has_ended;
	int64_t latest_ns; // greatest time stamp so far
	struct capture_report report;
};

// Open a capture that then owns the source. name is for error messages. Returns 0 or -errno.
int capture_open_source(
	struct byte_source *source, const char *name, struct capture **out, struct error *error);

// Count something that was wrong with the file, at this offset.
void capture_note(
	struct capture *capture, enum capture_note_kind kind, uint64_t offset, uint64_t detail);

// No frame comes any more. n_left: bytes of a record that is not whole, at next.
void capture_finish(struct capture *capture, size_t n_left);

// Get past what stopped walk: missing bytes, damage, or the end (recovery.c).
void capture_step(struct capture *capture);

// "Linux cooked" for 113; "unknown" for what is not in the table.
const char *capture_link_name(uint32_t link_type);

static inline uint32_t load_u32(const uint8_t *at, bool is_swapped)
{
	uint32_t value;

	__builtin_memcpy(&value, at, sizeof(value));
	return is_swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t load_u64(const uint8_t *at, bool is_swapped)
{
	uint64_t value;

	__builtin_memcpy(&value, at, sizeof(value));
	return is_swapped ? __builtin_bswap64(value) : value;
}

static inline uint16_t load_u16(const uint8_t *at, bool is_swapped)
{
	uint16_t value;

	__builtin_memcpy(&value, at, sizeof(value));
	return is_swapped ? __builtin_bswap16(value) : value;
}

// Take a frame check sequence that the file declares off a frame, as far as the file holds it.
static inline void capture_strip_fcs(struct capture_frame *frame, uint32_t fcs_len)
{
	if (frame->cap_len > frame->wire_len || frame->wire_len < fcs_len)
		return;
	frame->wire_len -= fcs_len;
	if (frame->cap_len > frame->wire_len)
		frame->cap_len = frame->wire_len;
}

// Hot path: fill one frame whose record begins at offset, and count what is odd about it.
static inline void capture_give(struct capture *capture, const struct capture_frame *given,
	const uint8_t *record, struct capture_frame *frame)
{
	*frame = *given;
	if (__builtin_expect(frame->ts_ns < capture->latest_ns, 0))
		capture_note(capture, CAPTURE_BACKWARDS,
			byte_source_offset(capture->source, record),
			(uint64_t)capture->latest_ns - (uint64_t)frame->ts_ns);
	else
		capture->latest_ns = frame->ts_ns;
	if (__builtin_expect(frame->cap_len != frame->wire_len, 0)) {
		bool is_snapped = frame->cap_len < frame->wire_len;
		capture_note(capture, is_snapped ? CAPTURE_SNAPPED : CAPTURE_BAD_LENGTH,
			byte_source_offset(capture->source, record), frame->cap_len);
		if (!is_snapped)
			frame->wire_len = frame->cap_len;
	}
}
