#include "histogram_file.h"

static void flush(struct histogram_file *out)
{
	(void)record_file_append(&out->file, out->records, out->n);
	out->n = 0;
}

void histogram_file_add(struct histogram_file *out, const struct histogram_record *record)
{
	out->records[out->n++] = *record;
	if (out->n == HISTOGRAM_FILE_BATCH)
		flush(out);
}

void histogram_file_add_buckets(struct histogram_file *out, const struct histogram *histogram,
	const struct histogram_record *labels)
{
	struct histogram_record record = *labels;
	struct histogram_bucket bucket;

	for (size_t cursor = 0; histogram_next(histogram, &cursor, &bucket);) {
		record.value_ticks = (int64_t)bucket.value;
		record.width_ticks = bucket.width;
		record.count = bucket.count;
		histogram_file_add(out, &record);
	}
}

int histogram_file_close(struct histogram_file *out, const struct clock_point *last)
{
	flush(out);
	return record_file_close(&out->file, last);
}
