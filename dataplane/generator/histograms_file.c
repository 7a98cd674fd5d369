// histograms.bin

#include "result_files.h"

enum { BATCH = 4096 };

struct batch {
	struct record_file file;
	struct histogram_record records[BATCH];
	size_t n;
};

static int flush(struct batch *batch)
{
	int err = record_file_append(&batch->file, batch->records, batch->n);

	batch->n = 0;
	return err;
}

static int add_series(struct batch *batch, const struct histogram *histogram,
	const struct histogram_record *labels)
{
	struct histogram_bucket bucket;
	int err = 0;

	for (size_t cursor = 0; err == 0 && histogram_next(histogram, &cursor, &bucket);) {
		struct histogram_record *record = &batch->records[batch->n++];
		*record = *labels;
		record->value_ticks = (int64_t)bucket.value;
		record->width_ticks = bucket.width;
		record->count = bucket.count;
		if (batch->n == BATCH)
			err = flush(batch);
	}
	return err;
}

static int add_measurement(struct batch *batch, const struct measurement *m)
{
	int err = 0;

	for (uint8_t set = 0; set < 4; set++) {
		const struct histogram *series = m->histograms[set / 2][set % 2];
		for (uint16_t i = 0; err == 0 && series != NULL && i < N_GENERATOR_SERIES; i++) {
			const struct histogram_record labels = {
				.series = i,
				.is_void = set % 2,
				.is_cold = set / 2,
				.direction = m->direction,
			};
			err = add_series(batch, &series[i], &labels);
		}
	}
	return err;
}

int histograms_write(const struct measurement *measurements, uint32_t n, const char *path,
	const struct record_file_header *header, const struct clock_point *last)
{
	static struct batch batch;
	int err = record_file_create(&batch.file, path, RECORD_HISTOGRAM, header);

	if (err < 0)
		return err;
	batch.n = 0;
	for (uint32_t i = 0; err == 0 && i < n; i++)
		err = add_measurement(&batch, &measurements[i]);
	if (err == 0)
		err = flush(&batch);
	int close_err = record_file_close(&batch.file, last);
	return err < 0 ? err : close_err;
}
