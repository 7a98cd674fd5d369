#include "frame_stream.h"

#include "record_file.h"
#include "time_span.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

// Who waited for the other goes on with half of the batches: to wake a thread for each takes longer
// than to read one.
enum { N_BATCHES = 8, N_HALF = N_BATCHES / 2, READER_NICE = 10 };

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
	pthread_t thread;
	bool is_started;

	// Reader's own.
	struct capture_frame frames[FRAME_BATCH];
	uint64_t n_frames;
	int64_t clock_ns, correction_base_ns;
	struct frame_totals totals;
	struct frame_file keys, heads;
	int error;

	// Shared: batches [n_taken, n_filled) are full, the others free. The batch before n_taken
	// is the caller's still.
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t n_filled, n_taken;
	bool stop, is_over; // over: the end is among the full ones
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

static int write_records(struct frame_stream *stream, const struct frame_batch *batch)
{
	uint32_t stride = stream->config.key->stride;
	int err = 0;

	for (uint32_t i = 0; stream->keys.file.fd >= 0 && i < batch->n; i++) {
		const uint8_t *key = batch->keys + (size_t)i * stride;
		uint32_t len = 0;
		if (batch->frames[i].key != NULL)
			memcpy(&len, key + stride - sizeof(len), sizeof(len));
		fill_record(&stream->keys, batch, i, &stream->frames[i], key, len);
	}
	for (uint32_t i = 0; stream->heads.file.fd >= 0 && i < batch->n; i++) {
		const struct capture_frame *frame = &stream->frames[i];
		uint32_t len = frame->cap_len < HEAD_BYTES ? frame->cap_len : HEAD_BYTES;
		fill_record(&stream->heads, batch, i, frame, frame->data, len);
	}
	if (stream->keys.file.fd >= 0)
		err = record_file_append(&stream->keys.file, stream->keys.records, batch->n);
	if (err == 0 && stream->heads.file.fd >= 0)
		err = record_file_append(&stream->heads.file, stream->heads.records, batch->n);
	return err;
}

static void finish_records(struct frame_stream *stream)
{
	int err = frame_file_close(&stream->keys);

	if (err == 0)
		err = frame_file_close(&stream->heads);
	if (stream->error == 0)
		stream->error = err;
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

// Hot path: stamps, clocks, keys and hashes of the frames just read.
static void fill_batch(struct frame_stream *stream, struct frame_batch *batch)
{
	const struct frame_stream_config *config = &stream->config;
	bool corrects = config->correction.offset_ns != 0 || config->correction.drift_ppb != 0;
	uint32_t stride = config->key->stride;
	uint64_t n_truncated = 0;

	batch->first_pos = stream->n_frames;
	if (stream->n_frames == 0) {
		stream->correction_base_ns = stream->frames[0].ts_ns;
		stream->clock_ns = INT64_MIN;
	}
	for (uint32_t i = 0; i < batch->n; i++) {
		const struct capture_frame *frame = &stream->frames[i];
		uint8_t *key = batch->keys + (size_t)i * stride;
		int64_t ts_ns = corrects ? corrected(stream, frame->ts_ns) : frame->ts_ns;

		if (ts_ns > stream->clock_ns)
			stream->clock_ns = ts_ns;
		bool has_key = key_extract(config->key, frame, key);
		n_truncated += !has_key;
		batch->frames[i] = (struct match_frame){
			.ts_ns = ts_ns,
			.clock_ns = stream->clock_ns,
			.key = has_key ? key : NULL,
			.hash = config->hashes ? key_hash(key, stride, config->seed) : 0,
			.frame_len = frame->wire_len < UINT16_MAX ? (uint16_t)frame->wire_len
								  : UINT16_MAX,
		};
	}
	if (stream->n_frames == 0)
		stream->totals.first_ns = batch->frames[0].ts_ns;
	stream->totals.last_ns = batch->frames[batch->n - 1].ts_ns;
	stream->totals.n_truncated += n_truncated;
	stream->n_frames += batch->n;
}

// The next free batch, or NULL when the matcher wants no more.
static struct frame_batch *wait_for_free(struct frame_stream *stream)
{
	struct frame_batch *batch = NULL;

	pthread_mutex_lock(&stream->lock);
	// One batch is in the caller's hands.
	if (stream->n_filled - stream->n_taken >= N_BATCHES - 1)
		while (!stream->stop && stream->n_filled - stream->n_taken > N_HALF)
			pthread_cond_wait(&stream->changed, &stream->lock);
	if (!stream->stop)
		batch = &stream->batches[stream->n_filled % N_BATCHES];
	pthread_mutex_unlock(&stream->lock);
	return batch;
}

static void *read_frames(void *argument)
{
	struct frame_stream *stream = argument;
	struct frame_batch *batch;

	// Where three threads share two cores the matcher must not wait: it is the one all wait
	// for.
	setpriority(PRIO_PROCESS, 0, READER_NICE);
	while ((batch = wait_for_free(stream)) != NULL) {
		batch->n = (uint32_t)capture_read(stream->capture, stream->frames, FRAME_BATCH);
		if (batch->n > 0) {
			fill_batch(stream, batch);
			int err = write_records(stream, batch);
			if (stream->error == 0)
				stream->error = err;
		}
		bool is_end = batch->n == 0;
		if (is_end)
			finish_records(stream);
		pthread_mutex_lock(&stream->lock);
		stream->n_filled++;
		stream->is_over = is_end;
		if (is_end || stream->n_filled - stream->n_taken >= N_HALF)
			pthread_cond_signal(&stream->changed);
		pthread_mutex_unlock(&stream->lock);
		if (is_end)
			break;
	}
	return NULL;
}

const struct frame_batch *frame_stream_next(struct frame_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	if (stream->n_filled == stream->n_taken)
		while (!stream->is_over && stream->n_filled - stream->n_taken < N_HALF)
			pthread_cond_wait(&stream->changed, &stream->lock);
	const struct frame_batch *batch = &stream->batches[stream->n_taken % N_BATCHES];
	// The end stays: asked again, it is given again.
	if (batch->n > 0)
		stream->n_taken++;
	if (stream->n_filled - stream->n_taken <= N_HALF)
		pthread_cond_signal(&stream->changed);
	pthread_mutex_unlock(&stream->lock);
	return batch;
}

int frame_stream_open(
	const struct frame_stream_config *config, struct frame_stream **out, struct error *error)
{
	struct frame_stream *stream = calloc(1, sizeof(*stream));
	int err = -ENOMEM;

	if (stream == NULL)
		return -ENOMEM;
	stream->config = *config;
	stream->keys.file.fd = stream->heads.file.fd = -1;
	pthread_mutex_init(&stream->lock, NULL);
	pthread_cond_init(&stream->changed, NULL);
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
	err = -pthread_create(&stream->thread, NULL, read_frames, stream);
	if (err < 0) {
		error_set(error, "%s: no thread reads it: %s", config->path, strerror(-err));
		goto fail;
	}
	stream->is_started = true;
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
	if (stream->is_started) {
		pthread_mutex_lock(&stream->lock);
		stream->stop = true;
		pthread_cond_signal(&stream->changed);
		pthread_mutex_unlock(&stream->lock);
		pthread_join(stream->thread, NULL);
	}
	frame_file_close(&stream->keys);
	frame_file_close(&stream->heads);
	for (size_t i = 0; i < N_BATCHES; i++)
		free(stream->batches[i].keys);
	capture_close(stream->capture);
	pthread_cond_destroy(&stream->changed);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}
