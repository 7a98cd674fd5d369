#pragma once

// match.json: what taut-match found out, apart from the distributions.
// python/taut/capture/native.py reads it.

#include "frame_stream.h"
#include "match.h"
#include "match_results.h"

struct match_side {
	const char *path;
	const struct capture_report *capture;
	const struct frame_totals *totals;
};

struct match_report {
	struct match_side ingress, egress;
	const struct match_counts *counts;
	const struct match_results *results;
	const struct key_spec *key;
	int64_t window_ns, skip_ns;
	struct frame_correction correction;
};

// Write folder/match.json. Returns 0 or -errno.
int match_report_write(const struct match_report *report, const char *folder);
