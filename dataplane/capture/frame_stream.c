#include "frame_stream.h"

#include "key_fast.h"
#include "record_file.h"
#include "time_span.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	// A stage that found no room goes on with half of the batches: to wake a thread for each
	// takes longer than to read one.
	N_BATCHES = 8,
	N_HALF = N_BATCHES / 2,
	// Frames that are found before their keys are taken: they are in the nearest cache still.
	N_AT_ONCE = 64,
};

// More than any clocks drift apart; an integer holds it.
static const double drift_max_ns = 0x1p62;

// Frame records of one file, collected and written a batch at a time.
struct frame_file {
	struct record_file file; // fd -1: not wanted
	uint8_t *records; // FRAME_BATCH of them
	size_t record_size;
};

struct frame_stream {
	struct frame_stream_config config;
	struct capture *capture;

	// The reading stage's own.
	struct capture_frame frames[N_AT_ONCE];
	uint64_t n_frames;
	int64_t clock_ns, correction_base_ns;
	uint64_t clock_pos; // of the frame that set the clock
	struct frame_totals totals;
	struct frame_file keys, heads;
	int error;

	// Batches [n_taken, n_filled) are full, the others free.
	uint64_t n_filled, n_taken;
	bool is_resting; // was full, until half of it is taken
	bool is_over; // the end is among the full ones
	struct frame_batch batches[N_BATCHES];
};

static int frame_file_open(
	struct frame_file *out, const char *path, size_t n_bytes, struct error *error)
{
	struct record_file_header header = {.nominal_tsc_hz = 1000000000};

	if (path == NULL)
		return 0;
	out->record_size = sizeof(struct frame_record) + n_bytes;
	header.record_size = (uint32_t)out->record_size;
	out->records = calloc(FRAME_BATCH, out->record_size);
	int err = out->records == NULL
			  ? -ENOMEM
			  : record_file_create(&out->file, path, RECORD_FRAME, &header);
	if (err < 0)
		error_set(error, "%s: cannot be written: %s; make room, or name another --out",
			path, strerror(-err));
	return err;
}

static int frame_file_close(struct frame_file *out)
{
	struct clock_point last = {.tsc = 1};
	int err = record_file_close(&out->file, &last);

	free(out->records);
	out->records = NULL;
	return err;
}

static void fill_record(struct frame_file *out, const struct frame_batch *batch, uint32_t i,
	const struct capture_frame *frame, const uint8_t *bytes, uint32_t n_bytes)
{
	uint8_t *at = out->records + i * out->record_size;
	struct frame_record record = {
		.pos = batch->first_pos + i,
		.ts_ns = batch->frames[i].ts_ns,
		.clock_ns = batch->frames[i].clock_ns,
		.wire_len = frame->wire_len,
		.cap_len = frame->cap_len,
		.n_bytes = (uint16_t)n_bytes,
		.flags = batch->frames[i].key == NULL ? FRAME_TRUNCATED : 0,
	};

	memset(at, 0, out->record_size);
	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), bytes, n_bytes);
}

// Of the n frames just read, which are the batch's last.
static void fill_records(struct frame_stream *stream, const struct frame_batch *batch, uint32_t n)
{
	uint32_t stride = stream->config.key->stride;
	const struct capture_frame *frame = stream->frames;

	for (uint32_t i = batch->n - n; i < batch->n; i++, frame++) {
		if (stream->keys.file.fd >= 0) {
			const uint8_t *key = batch->keys + (size_t)i * stride;
			uint32_t len = 0;
			if (batch->frames[i].key != NULL)
				memcpy(&len, key + stride - sizeof(len), sizeof(len));
			fill_record(&stream->keys, batch, i, frame, key, len);
		}
		if (stream->heads.file.fd >= 0) {
			uint32_t len = frame->cap_len < HEAD_BYTES ? frame->cap_len : HEAD_BYTES;
			fill_record(&stream->heads, batch, i, frame, frame->data, len);
		}
	}
}

static int write_records(struct frame_stream *stream, uint32_t n)
{
	int err = 0;

	if (stream->keys.file.fd >= 0)
		err = record_file_append(&stream->keys.file, stream->keys.records, n);
	if (err == 0 && stream->heads.file.fd >= 0)
		err = record_file_append(&stream->heads.file, stream->heads.records, n);
	return err;
}

static int finish_records(struct frame_stream *stream)
{
	int err = frame_file_close(&stream->keys);
	int heads_err = frame_file_close(&stream->heads);

	return err < 0 ? err : heads_err;
}

static int64_t corrected(const struct frame_stream *stream, int64_t ts_ns)
{
	const struct frame_correction *by = &stream->config.correction;
	double since_ns = (double)ns_minus(ts_ns, stream->correction_base_ns);
	double drift_ns = by->drift_ppb * since_ns / 1e9;

	if (!(drift_ns < drift_max_ns))
		drift_ns = drift_max_ns;
	if (drift_ns < -drift_max_ns)
		drift_ns = -drift_max_ns;
	return ns_minus(ns_minus(ts_ns, by->offset_ns), llrint(drift_ns));
}

static void note_behind(struct frame_stream *stream, int64_t ahead_ns)
{
	struct frame_leap *leap = &stream->totals.leap;

	if (leap->n_behind++ == 0) {
		leap->pos = stream->clock_pos;
		leap->ahead_ns = ahead_ns;
	}
}

// Hot path: the clock of a frame.
static inline int64_t advance_clock(struct frame_stream *stream, int64_t ts_ns, uint64_t pos)
{
	if (ts_ns > stream->clock_ns) {
		stream->clock_ns = ts_ns;
		stream->clock_pos = pos;
	} else if (__builtin_expect(
			   ns_minus(stream->clock_ns, ts_ns) >= stream->config.window_ns, 0)) {
		note_behind(stream, ns_minus(stream->clock_ns, ts_ns));
	}
	return stream->clock_ns;
}

// Hot path: stamps, clocks, keys and hashes of the n frames just read, behind those of the batch.
static void fill_batch(struct frame_stream *stream, struct frame_batch *batch, uint32_t n)
{
	const struct frame_stream_config *config = &stream->config;
	bool corrects = config->correction.offset_ns != 0 || config->correction.drift_ppb != 0;
	bool hashes = config->hashes;
	uint32_t stride = config->key->stride;
	struct match_frame *out = &batch->frames[batch->n];
	uint8_t *key = batch->keys + (size_t)batch->n * stride;
	uint64_t pos = batch->first_pos + batch->n;
	uint32_t longest = stream->totals.longest;
	uint64_t n_keys = 0;

	for (uint32_t i = 0; i < n; i++, out++, key += stride) {
		const struct capture_frame *frame = &stream->frames[i];
		int64_t ts_ns = corrects ? corrected(stream, frame->ts_ns) : frame->ts_ns;

		if (frame->wire_len > longest)
			longest = frame->wire_len;
		bool has_key = key_extract_fast(config->key, frame, key);
		n_keys += has_key;
		*out = (struct match_frame){
			.ts_ns = ts_ns,
			.clock_ns = advance_clock(stream, ts_ns, pos + i),
			.key = has_key ? key : NULL,
			.hash = hashes ? key_hash_fast(key, stride, config->seed) : 0,
			.frame_len = frame->wire_len < UINT16_MAX ? (uint16_t)frame->wire_len
								  : UINT16_MAX,
		};
	}
	batch->n += n;
	stream->totals.longest = longest;
	stream->totals.n_truncated += n - n_keys;
}

// A file of nanoseconds may hold whole microseconds; the stamps say so, whatever the header says.
static void note_resolution(
	struct frame_totals *totals, const struct capture_frame *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n && totals->resolution_ns > 1; i++) {
		int64_t rest = frames[i].ts_ns % totals->resolution_ns;

		while (rest != 0) {
			int64_t divisor = rest < 0 ? -rest : rest;
			rest = totals->resolution_ns % divisor;
			totals->resolution_ns = divisor;
		}
	}
}

// Fewer frames than asked for is the end of what is read so far: what there is, is not held up by
// what is to come.
static void read_batch(struct frame_stream *stream, struct frame_batch *batch)
{
	uint32_t n;

	batch->n = 0;
	batch->first_pos = stream->n_frames;
	do {
		n = (uint32_t)capture_read(stream->capture, stream->frames, N_AT_ONCE);
		if (n > 0 && stream->n_frames + batch->n == 0)
			stream->correction_base_ns = stream->frames[0].ts_ns;
		note_resolution(&stream->totals, stream->frames, n);
		fill_batch(stream, batch, n);
		fill_records(stream, batch, n);
	} while (n == N_AT_ONCE && batch->n < FRAME_BATCH);
	batch->n_bytes = capture_report(stream->capture)->n_bytes;
	if (batch->n == 0)
		return;
	if (stream->n_frames == 0)
		stream->totals.first_ns = batch->frames[0].ts_ns;
	stream->totals.last_ns = batch->frames[batch->n - 1].ts_ns;
	stream->n_frames += batch->n;
}

static bool is_room(void *context)
{
	struct frame_stream *stream = context;
	uint64_t n_full = stream->n_filled - stream->n_taken;

	if (n_full <= N_HALF)
		stream->is_resting = false;
	else if (n_full == N_BATCHES)
		stream->is_resting = true;
	return !stream->is_over && !stream->is_resting;
}

static struct frame_batch *batch_at(struct frame_stream *stream, uint64_t i)
{
	return &stream->batches[i % N_BATCHES];
}

static void read_next(void *context)
{
	struct frame_stream *stream = context;
	struct frame_batch *batch = batch_at(stream, stream->n_filled);

	read_batch(stream, batch);
	int err = batch->n > 0 ? write_records(stream, batch->n) : finish_records(stream);
	if (stream->error == 0)
		stream->error = err;
}

static void hand_over(void *context)
{
	struct frame_stream *stream = context;

	stream->is_over = batch_at(stream, stream->n_filled++)->n == 0;
}

struct stage frame_stream_stage(struct frame_stream *stream)
{
	return (struct stage){is_room, read_next, hand_over, stream};
}

const struct frame_batch *frame_stream_batch(const struct frame_stream *stream)
{
	if (stream->n_taken == stream->n_filled)
		return NULL;
	return &stream->batches[stream->n_taken % N_BATCHES];
}

void frame_stream_take(struct frame_stream *stream)
{
	stream->n_taken += frame_stream_batch(stream)->n > 0;
}

int frame_stream_open(
	const struct frame_stream_config *config, struct frame_stream **out, struct error *error)
{
	struct frame_stream *stream = calloc(1, sizeof(*stream));
	int err = -ENOMEM;

	if (stream == NULL)
		return -ENOMEM;
	stream->config = *config;
	stream->clock_ns = INT64_MIN;
	stream->totals.resolution_ns = 1000000000;
	stream->keys.file.fd = stream->heads.file.fd = -1;
	error_set(error, "%s: out of memory", config->path);
	for (size_t i = 0; i < N_BATCHES; i++) {
		stream->batches[i].keys = calloc(FRAME_BATCH, config->key->stride);
		if (stream->batches[i].keys == NULL)
			goto fail;
	}
	err = capture_open(config->path, &stream->capture, error);
	if (err < 0)
		goto fail;
	err = frame_file_open(&stream->keys, config->keys_path, config->key->n_bytes, error);
	if (err == 0)
		err = frame_file_open(&stream->heads, config->heads_path, HEAD_BYTES, error);
	if (err < 0)
		goto fail;
	*out = stream;
	return 0;
fail:
	frame_stream_close(stream);
	return err;
}

int frame_stream_error(const struct frame_stream *stream)
{
	return stream->error;
}

const struct capture_report *frame_stream_report(const struct frame_stream *stream)
{
	return capture_report(stream->capture);
}

const struct frame_totals *frame_stream_totals(const struct frame_stream *stream)
{
	return &stream->totals;
}

void frame_stream_close(struct frame_stream *stream)
{
	if (stream == NULL)
		return;
	frame_file_close(&stream->keys);
	frame_file_close(&stream->heads);
	for (size_t i = 0; i < N_BATCHES; i++)
		free(stream->batches[i].keys);
	capture_close(stream->capture);
	free(stream);
}
