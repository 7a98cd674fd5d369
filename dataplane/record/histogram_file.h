#pragma once

// A file of histogram records, appended in batches. No call but the last says that one failed:
// nothing is written behind a failed append.

#include "histogram.h"
#include "record_file.h"

enum { HISTOGRAM_FILE_BATCH = 4096 };

struct histogram_file {
	struct record_file file; // of RECORD_HISTOGRAM; the caller creates it
	size_t n; // of records that wait; 0 at first
	struct histogram_record records[HISTOGRAM_FILE_BATCH];
};

void histogram_file_add(struct histogram_file *out, const struct histogram_record *record);

// Each bucket of the histogram; labels has all but its value, width and count.
void histogram_file_add_buckets(struct histogram_file *out, const struct histogram *histogram,
	const struct histogram_record *labels);

// Append what waits, and close. Returns 0 or -errno of what failed first.
int histogram_file_close(struct histogram_file *out, const struct clock_point *last);
