// histograms.bin

#include "histogram_file.h"
#include "result_files.h"

static void add_measurement(struct histogram_file *out, const struct measurement *m)
{
	for (uint8_t set = 0; set < 4; set++) {
		const struct histogram *series = m->histograms[set / 2][set % 2];
		for (uint16_t i = 0; series != NULL && i < N_GENERATOR_SERIES; i++) {
			const struct histogram_record labels = {
				.series = i,
				.is_void = set % 2,
				.is_cold = set / 2,
				.direction = m->direction,
			};
			histogram_file_add_buckets(out, &series[i], &labels);
		}
	}
}

int histograms_write(const struct measurement *measurements, uint32_t n, const char *path,
	const struct record_file_header *header, const struct clock_point *last)
{
	static struct histogram_file out;
	int err = record_file_create(&out.file, path, RECORD_HISTOGRAM, header);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < n; i++)
		add_measurement(&out, &measurements[i]);
	return histogram_file_close(&out, last);
}
