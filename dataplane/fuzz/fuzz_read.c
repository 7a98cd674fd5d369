#include "capture_priv.h"
#include "fuzz.h"

struct reading {
	int err; // of opening
	uint64_t n_frames, n_snapped, n_backwards, digest;
	int64_t latest_ns;
	struct capture_report report;
};

static void mix(struct reading *reading, uint64_t value)
{
	reading->digest = (reading->digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	reading->digest ^= reading->digest >> 29;
}

static void take_frame(struct reading *reading, const struct byte_source *source,
	const struct capture_frame *frame)
{
	must(frame->data >= source->block && frame->data + frame->cap_len <= source->end,
		"a frame lies in the window");
	must(frame->cap_len <= frame->wire_len, "no more bytes than on the wire");
	if (reading->n_frames > 0 && frame->ts_ns < reading->latest_ns)
		reading->n_backwards++;
	else
		reading->latest_ns = frame->ts_ns;
	reading->n_snapped += frame->cap_len < frame->wire_len;
	reading->n_frames++;
	mix(reading, (uint64_t)frame->ts_ns);
	mix(reading, (uint64_t)frame->cap_len << 32 | frame->wire_len);
	for (uint32_t i = 0; i < frame->cap_len; i++)
		mix(reading, frame->data[i]);
}

static void check_report(const struct reading *reading, size_t len)
{
	const struct capture_report *report = &reading->report;
	char text[512];

	must(report->n_frames == reading->n_frames, "frames given are frames counted");
	must(report->n_bytes <= len, "no more bytes than the file has");
	must(report->notes[CAPTURE_SNAPPED].count == reading->n_snapped, "snapped");
	must(report->notes[CAPTURE_BACKWARDS].count == reading->n_backwards, "backwards");
	must((report->notes[CAPTURE_EMPTY].count > 0) == (reading->n_frames == 0), "empty");
	must(report->notes[CAPTURE_CUT_OFF].count <= 1, "a file is cut once");
	must(report->notes[CAPTURE_UNREADABLE].count <= 1, "a file ends once");
	must(report->notes[CAPTURE_UNREADABLE].count > 0 || report->n_bytes == len,
		"read to the end");
	for (unsigned kind = 0; kind < N_CAPTURE_NOTES; kind++) {
		must(report->notes[kind].first_offset <= len, "an offset lies in the file");
		capture_note_text(report, kind, "file", text, sizeof(text));
	}
}

// Plain data through blocks of block_bytes.
static struct reading read_all(const uint8_t *data, size_t len, size_t block_bytes)
{
	struct reading reading = {0};
	struct capture_frame frames[7];
	struct byte_source *source;
	struct capture *capture;
	struct error error = {0};
	size_t n;

	must(byte_source_memory(data, len, block_bytes, &source) == 0, "memory opens");
	reading.err = capture_open_source(source, "fuzz", &capture, &error);
	if (reading.err < 0)
		return reading;
	while ((n = capture_read(capture, frames, 7)) > 0)
		for (size_t i = 0; i < n; i++)
			take_frame(&reading, source, &frames[i]);
	reading.report = *capture_report(capture);
	capture_close(capture);
	check_report(&reading, len);
	return reading;
}

void read_twice(const uint8_t *data, size_t len, size_t block_bytes)
{
	struct reading small = read_all(data, len, block_bytes);
	struct reading large = read_all(data, len, 1 << 16);

	must(small.err == large.err && small.digest == large.digest, "same frames");
	must(small.report.n_dropped == large.report.n_dropped, "same drops");
	for (unsigned kind = 0; kind < N_CAPTURE_NOTES; kind++) {
		const struct capture_note *a = &small.report.notes[kind];
		const struct capture_note *b = &large.report.notes[kind];
		must(a->count == b->count && a->detail == b->detail, "same notes");
		must(a->first_offset == b->first_offset || kind == CAPTURE_EMPTY, "same offsets");
	}
}
