#pragma once

// Reads one capture ahead: frames in file order, in batches, each with its clock, key and hash. It
// is a stage of a pipeline (stages.h), and a few batches go round, so memory does not depend on
// the file.

#include "capture.h"
#include "error.h"
#include "key.h"
#include "match.h"
#include "stages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_BATCH = 1024 };

struct frame_batch {
	uint32_t n; // 0: the end
	uint64_t n_bytes; // of the decompressed file, read so far
	uint64_t first_pos; // of frame 0
	struct match_frame frames[FRAME_BATCH];
	uint8_t *keys; // FRAME_BATCH * stride, those of the frames that have one
};

// A correction of time stamps: ts - offset_ns - drift_ppb * (ts - first ts) / 10^9.
struct frame_correction {
	int64_t offset_ns;
	double drift_ppb;
};

struct frame_stream_config {
	const char *path;
	const struct key_spec *key;
	uint64_t seed; // of the hashes
	bool hashes; // fill them in
	int64_t window_ns; // above 0
	struct frame_correction correction;
	const char *keys_path; // write frame records with keys here; NULL: not
	const char *heads_path; // write frame records with the first HEAD_BYTES here; NULL: not
};

enum { HEAD_BYTES = 128 };

struct frame_stream;

// Frames whose clock is a window or more ahead of their own time stamp: they match nothing of it.
struct frame_leap {
	uint64_t n_behind; // 0: none, nor the others
	uint64_t pos; // of the frame whose stamp is the clock of the first of them
	int64_t ahead_ns; // of the first of them
};

// What a stream says at its end, besides its capture_report.
struct frame_totals {
	uint64_t n_truncated; // frames without a key
	uint32_t longest; // bytes on the wire of the longest frame; 0 without
	int64_t first_ns, last_ns; // time stamps of the first and the last frame; 0 without
	int64_t resolution_ns; // the greatest divisor of 1 s that divides every stamp of the file
	struct frame_leap leap;
};

// Open the file. Returns 0 or -errno with one line in error.
int frame_stream_open(
	const struct frame_stream_config *config, struct frame_stream **out, struct error *error);

// The stage that reads: a piece is a batch. It is ready while there is room and the file goes on.
struct stage frame_stream_stage(struct frame_stream *stream);

// As is_ready and done of the stage behind: the oldest batch, NULL before it is read, with n = 0 at
// the end; and give it back. The end stays: given back, it is given again.
const struct frame_batch *frame_stream_batch(const struct frame_stream *stream);
void frame_stream_take(struct frame_stream *stream);

// 0, or -errno of a record file that could not be written. Valid at the end, as the next two.
int frame_stream_error(const struct frame_stream *stream);
const struct capture_report *frame_stream_report(const struct frame_stream *stream);
const struct frame_totals *frame_stream_totals(const struct frame_stream *stream);

// NULL is a no-op.
void frame_stream_close(struct frame_stream *stream);
