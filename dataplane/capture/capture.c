#include "capture.h"

#include "capture_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void capture_note(
	struct capture *capture, enum capture_note_kind kind, uint64_t offset, uint64_t detail)
{
	struct capture_note *note = &capture->report.notes[kind];

	if (note->count++ > 0)
		return;
	note->first_offset = offset;
	note->detail = detail;
}

void capture_finish(struct capture *capture, size_t n_left)
{
	const struct byte_source *source = capture->source;
	uint64_t offset = source->end_offset - n_left;

	if (source->state == BYTE_SOURCE_FAILED &&
		capture->report.notes[CAPTURE_UNREADABLE].count == 0)
		capture_note(capture, CAPTURE_UNREADABLE, offset, (uint64_t)source->failure);
	else if (n_left > 0 || source->state == BYTE_SOURCE_CUT_OFF)
		capture_note(capture, CAPTURE_CUT_OFF, offset, n_left);
	if (capture->report.n_frames == 0)
		capture_note(capture, CAPTURE_EMPTY, source->end_offset, 0);
	capture->has_ended = true;
}

enum { MAGIC_BYTES = 4 };

static int choose_format(struct capture *capture, uint32_t magic, struct error *error)
{
	if (pcap_recognises(magic)) {
		capture->format = &capture_pcap;
	} else if (pcapng_recognises(magic)) {
		capture->format = &capture_pcapng;
	} else {
		error_set(error,
			"is no capture: begins with 0x%08" PRIx32
			"; convert it to pcap or pcapng (plain, gzip or zstd)",
			__builtin_bswap32(magic));
		return -EINVAL;
	}
	capture->report.format = capture->format->name;
	return capture->format->open(capture, error);
}

// A first look at the file decides the format. Nothing to look at is no error: no frame.
static int begin(struct capture *capture, struct error *error)
{
	struct byte_source *source = capture->source;
	size_t n = byte_source_more(source, MAGIC_BYTES);

	capture->latest_ns = INT64_MIN;
	capture->report.compression = source->compression;
	capture->report.format = "none";
	if (source->state == BYTE_SOURCE_FAILED && n < MAGIC_BYTES) {
		if (source->failure == EBADMSG)
			error_set(error,
				"cannot be read: damaged %s data; name a pcap or pcapng file",
				source->compression);
		else
			error_set(error, "cannot be read: %s; name a pcap or pcapng file",
				strerror(source->failure));
		return -source->failure;
	}
	if (n == 0) {
		capture_finish(capture, 0);
		return 0;
	}
	if (n < MAGIC_BYTES) {
		error_set(error, "is no capture: shorter than any; name a pcap or pcapng file");
		return -EINVAL;
	}
	return choose_format(capture, load_u32(source->next, false), error);
}

int capture_open_source(
	struct byte_source *source, const char *name, struct capture **out, struct error *error)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	int err = -ENOMEM;

	*out = capture;
	if (capture == NULL) {
		byte_source_close(source);
		error_set(error, "out of memory");
	} else {
		capture->source = source;
		err = begin(capture, error);
	}
	if (err < 0) {
		error_prefix(error, "%s", name);
		capture_close(capture);
		*out = NULL;
	}
	return err;
}

int capture_open(const char *path, struct capture **out, struct error *error)
{
	struct byte_source *source;
	int err = byte_source_open(path, &source, error);

	*out = NULL;
	if (err < 0)
		return err;
	return capture_open_source(source, path, out, error);
}

size_t capture_read(struct capture *capture, struct capture_frame *frames, size_t max)
{
	size_t n = 0;

	while (n == 0 && max > 0 && !capture->has_ended) {
		n = capture->format->walk(capture, frames, max);
		if (n == 0)
			capture_step(capture);
	}
	capture->report.n_frames += n;
	capture->report.n_bytes = capture->source->end_offset;
	return n;
}

const struct capture_report *capture_report(const struct capture *capture)
{
	return &capture->report;
}

void capture_close(struct capture *capture)
{
	if (capture == NULL)
		return;
	byte_source_close(capture->source);
	free(capture->state);
	free(capture);
}
