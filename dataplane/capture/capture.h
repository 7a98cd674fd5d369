#pragma once

// Reads the frames of a capture file in order, in blocks, at constant memory: pcap and pcapng,
// every byte order and time resolution, plain, gzip or zstd (told by their first bytes, not by
// name), from a file, a pipe or standard input ("-"). Ethernet frames only; what has another link
// type is counted and passed over. Broken input never ends the program: what is whole is given,
// the rest is noted with its offset in the (decompressed) file.

#include "error.h"

#include <stddef.h>
#include <stdint.h>

struct capture;

// A frame as captured. data holds cap_len bytes and lives until the next capture_read.
struct capture_frame {
	const uint8_t *data;
	int64_t ts_ns; // since the file's own epoch; finer resolutions are rounded down
	uint32_t cap_len; // bytes in the file
	uint32_t wire_len; // bytes on the wire; cap_len < wire_len: snapped
};

// What was wrong with a file. Kinds are counted; the first of each is kept with its offset.
enum capture_note_kind {
	CAPTURE_EMPTY, // no byte, or a header and no frame
	CAPTURE_CUT_OFF, // the last record (or block, or compressed stream) ends early
	CAPTURE_BAD_LENGTH, // a record that claims an impossible length; if only more than was on
			    // the wire, its frame is given, with wire_len raised to cap_len
	CAPTURE_RESYNCHRONISED, // bytes passed over until records made sense again
	CAPTURE_BAD_TIME, // a fraction of a second that is none, no time stamp at all (simple
			  // packet blocks), or one beyond 64 bits of ns: no frame
	CAPTURE_OTHER_LINK_TYPE, // frames of an interface that is not Ethernet
	CAPTURE_BACKWARDS, // time stamps below one before them in the file
	CAPTURE_SNAPPED, // fewer bytes in the file than on the wire
	CAPTURE_UNREADABLE, // the rest of the file makes no sense, or a read or decompressor failed
	N_CAPTURE_NOTES,
};

struct capture_note {
	uint64_t count; // 0: did not happen
	uint64_t first_offset; // bytes from the start of the decompressed file
	uint64_t detail; // of the first: the length claimed, the link type, bytes passed over, ...
};

struct capture_report {
	uint64_t n_frames; // given so far
	uint64_t n_bytes; // of the decompressed file, read so far
	uint64_t n_dropped; // packets that were lost to the file while it was written, as it says
	const char *format; // "pcap", "pcapng"; static
	const char *compression; // "none", "gzip", "zstd"; static
	struct capture_note notes[N_CAPTURE_NOTES];
};

// Open path. Returns 0 or -errno with one line in error that names the file, what is wrong and the
// remedy: -ENOENT and others of open(2), -EINVAL for what is no capture (wrong magic), -ENOTSUP for
// a pcap of another link type than Ethernet. A file without any byte opens and has no frame.
int capture_open(const char *path, struct capture **out, struct error *error);

// Give up to max frames, the next ones in file order. 0: the end, or what comes cannot be read
// (the report says which). Frames and their bytes are valid until the next call.
size_t capture_read(struct capture *capture, struct capture_frame *frames, size_t max);

const struct capture_report *capture_report(const struct capture *capture);

// The kind as the word of match.json ("cut_off"), and a note as one line for people:
// "record at byte 4711 claims 16777216 bytes; 1 such". path is repeated in front.
const char *capture_note_name(enum capture_note_kind kind);
void capture_note_text(const struct capture_report *report, enum capture_note_kind kind,
	const char *path, char *text, size_t len);

// NULL is a no-op.
void capture_close(struct capture *capture);
