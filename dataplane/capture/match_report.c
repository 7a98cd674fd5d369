#include "match_report.h"

#include "json_file.h"

#include <errno.h>
#include <stdio.h>

enum { PATH_LEN = 4096 };

static void print_notes(struct json *json, const struct match_side *side)
{
	char text[PATH_LEN];

	json_array(json, "notes");
	for (int kind = 0; kind < N_CAPTURE_NOTES; kind++) {
		const struct capture_note *note = &side->capture->notes[kind];
		if (note->count == 0)
			continue;
		capture_note_text(side->capture, kind, side->path, text, sizeof(text));
		json_object(json, NULL);
		json_text(json, "kind", capture_note_name(kind));
		json_u64(json, "count", note->count);
		json_u64(json, "first_offset", note->first_offset);
		json_u64(json, "detail", note->detail);
		json_text(json, "text", text);
		json_end(json);
	}
	json_end(json);
}

static void print_leap(struct json *json, const struct frame_leap *leap)
{
	json_object(json, "leap");
	json_u64(json, "pos", leap->pos);
	json_i64(json, "ahead_ns", leap->ahead_ns);
	json_u64(json, "frames_behind", leap->n_behind);
	json_end(json);
}

static void print_side(struct json *json, const char *name, const struct match_side *side)
{
	const struct capture_report *capture = side->capture;

	json_object(json, name);
	json_text(json, "path", side->path);
	json_text(json, "format", capture->format);
	json_text(json, "compression", capture->compression);
	json_u64(json, "bytes", capture->n_bytes);
	json_u64(json, "frames", capture->n_frames);
	json_u64(json, "longest_frame", side->totals->longest);
	json_u64(json, "too_short_for_key", side->totals->n_truncated);
	json_u64(json, "cut_off", capture->notes[CAPTURE_CUT_OFF].count);
	json_u64(json, "snapped", capture->notes[CAPTURE_SNAPPED].count);
	json_u64(json, "backwards", capture->notes[CAPTURE_BACKWARDS].count);
	json_u64(json, "dropped", capture->n_dropped);
	json_i64(json, "first_ns", side->totals->first_ns);
	json_i64(json, "last_ns", side->totals->last_ns);
	json_i64(json, "resolution_ns", side->totals->resolution_ns);
	if (side->totals->leap.n_behind > 0)
		print_leap(json, &side->totals->leap);
	print_notes(json, side);
	json_end(json);
}

static void print_counts(struct json *json, const struct match_report *report)
{
	const struct match_counts *counts = report->counts;
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"ingress_frames", report->ingress.capture->n_frames},
		{"egress_frames", report->egress.capture->n_frames},
		{"matched", counts->ingress[MATCH_MATCHED]},
		{"lost", counts->ingress[MATCH_LOST]},
		{"duplicates", counts->egress[MATCH_DUPLICATE]},
		{"duplicate_keys", counts->duplicate_keys},
		{"ambiguous_ingress", counts->ingress[MATCH_AMBIGUOUS]},
		{"ambiguous_egress", counts->egress[MATCH_AMBIGUOUS]},
		{"orphans", counts->egress[MATCH_ORPHAN]},
		{"beyond_window", counts->egress[MATCH_BEYOND_WINDOW]},
		{"negative", counts->negative},
		{"out_of_sequence", counts->out_of_sequence},
		{"truncated_ingress", counts->ingress[MATCH_TRUNCATED]},
		{"truncated_egress", counts->egress[MATCH_TRUNCATED]},
		{"skipped_warmup", report->results->n_cold_matched},
	};

	json_object(json, "counts");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_u64(json, rows[i].name, rows[i].value);
	json_end(json);
}

// Each bin as [at_ns, least_ns, how many].
static void print_envelope(struct json *json, const struct envelope *envelope)
{
	json_object(json, "envelope");
	json_i64(json, "width_ns", envelope->width_ns);
	json_array(json, "bins");
	for (uint32_t i = 0; i < envelope->n; i++) {
		if (envelope->bins[i].n == 0)
			continue;
		json_array(json, NULL);
		json_i64(json, NULL, envelope->bins[i].at_ns);
		json_i64(json, NULL, envelope->bins[i].least_ns);
		json_u64(json, NULL, envelope->bins[i].n);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static void print_report(struct json *json, const void *context)
{
	const struct match_report *report = context;
	char key[KEY_TEXT_LEN];

	json_object(json, NULL);
	print_side(json, "ingress", &report->ingress);
	print_side(json, "egress", &report->egress);
	print_counts(json, report);
	key_spec_text(report->key, key, sizeof(key));
	json_text(json, "key", key);
	json_i64(json, "window_ns", report->window_ns);
	json_i64(json, "skip_ns", report->skip_ns);
	json_i64(json, "egress_offset_ns", report->correction.offset_ns);
	json_double(json, "egress_drift_ppb", report->correction.drift_ppb, 17);
	print_envelope(json, &report->results->envelope);
	json_end(json);
}

int match_report_write(const struct match_report *report, const char *folder)
{
	char path[PATH_LEN];

	if (snprintf(path, sizeof(path), "%s/match.json", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return json_file_write(path, print_report, report);
}
