#include "match_report.h"

#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { PATH_LEN = 4096 };

static void print_notes(FILE *out, const struct match_side *side)
{
	const char *comma = "";
	char text[PATH_LEN];

	fprintf(out, "[");
	for (int kind = 0; kind < N_CAPTURE_NOTES; kind++) {
		const struct capture_note *note = &side->capture->notes[kind];
		if (note->count == 0)
			continue;
		capture_note_text(side->capture, kind, side->path, text, sizeof(text));
		fprintf(out,
			"%s\n  {\"kind\":\"%s\",\"count\":%" PRIu64 ",\"first_offset\":%" PRIu64
			",\"detail\":%" PRIu64 ",\"text\":",
			comma, capture_note_name(kind), note->count, note->first_offset,
			note->detail);
		json_string(out, text);
		fprintf(out, "}");
		comma = ",";
	}
	fprintf(out, "]");
}

static void print_side(FILE *out, const char *name, const struct match_side *side)
{
	const struct capture_note *notes = side->capture->notes;

	fprintf(out, "\"%s\":{\"path\":", name);
	json_string(out, side->path);
	fprintf(out,
		",\"format\":\"%s\",\"compression\":\"%s\",\"bytes\":%" PRIu64
		",\"frames\":%" PRIu64 ",\"too_short_for_key\":%" PRIu64 ",\"cut_off\":%" PRIu64
		",\"snapped\":%" PRIu64 ",\"backwards\":%" PRIu64 ",\"first_ns\":%" PRId64
		",\"last_ns\":%" PRId64 ",\"notes\":",
		side->capture->format, side->capture->compression, side->capture->n_bytes,
		side->capture->n_frames, side->totals->n_truncated, notes[CAPTURE_CUT_OFF].count,
		notes[CAPTURE_SNAPPED].count, notes[CAPTURE_BACKWARDS].count,
		side->totals->first_ns, side->totals->last_ns);
	print_notes(out, side);
	fprintf(out, "},\n");
}

static void print_counts(FILE *out, const struct match_report *report)
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

	fprintf(out, "\"counts\":{");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", rows[i].name, rows[i].value);
	fprintf(out, "},\n");
}

static void print_envelope(FILE *out, const struct envelope *envelope)
{
	fprintf(out, "\"envelope\":{\"width_ns\":%" PRId64 ",\"bins\":[", envelope->width_ns);
	const char *comma = "";
	for (uint32_t i = 0; i < envelope->n; i++) {
		if (envelope->bins[i].n == 0)
			continue;
		fprintf(out, "%s[%" PRId64 ",%" PRId64 ",%" PRIu64 "]", comma,
			envelope->bins[i].at_ns, envelope->bins[i].least_ns, envelope->bins[i].n);
		comma = ",";
	}
	fprintf(out, "]}");
}

static void print_report(FILE *out, const struct match_report *report)
{
	char key[1024];

	fprintf(out, "{");
	print_side(out, "ingress", &report->ingress);
	print_side(out, "egress", &report->egress);
	print_counts(out, report);
	key_spec_text(report->key, key, sizeof(key));
	fprintf(out, "\"key\":");
	json_string(out, key);
	fprintf(out,
		",\"window_ns\":%" PRId64 ",\"skip_ns\":%" PRId64 ",\"egress_offset_ns\":%" PRId64
		",\"egress_drift_ppb\":%.17g,\n",
		report->window_ns, report->skip_ns, report->correction.offset_ns,
		report->correction.drift_ppb);
	print_envelope(out, &report->results->envelope);
	fprintf(out, "}\n");
}

int match_report_write(const struct match_report *report, const char *folder)
{
	char temporary[PATH_LEN];
	char path[PATH_LEN];

	if (snprintf(path, sizeof(path), "%s/match.json", folder) >= (int)sizeof(path) ||
		snprintf(temporary, sizeof(temporary), "%s/.match.json", folder) >=
			(int)sizeof(temporary))
		return -ENAMETOOLONG;
	FILE *out = fopen(temporary, "we");
	if (out == NULL)
		return -errno;
	print_report(out, report);
	int err = ferror(out) ? -EIO : 0;
	if (fclose(out) != 0 && err == 0)
		err = -errno;
	if (err == 0 && rename(temporary, path) < 0)
		err = -errno;
	return err;
}
