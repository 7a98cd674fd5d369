#include "report.h"

#include "record_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

enum {
	PATH_LEN = 4096,
	BATCH = 1024,
};

static const uint64_t thresholds_ns[] = {
	1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000, 10000000};

static const struct {
	const char *name;
	double share;
} percentiles[] = {
	{"p50", 0.5},
	{"p90", 0.9},
	{"p99", 0.99},
	{"p99.9", 0.999},
	{"p99.99", 0.9999},
	{"p99.999", 0.99999},
	{"p99.9999", 0.999999},
};

static void print_clock(FILE *out, const struct noise *noise)
{
	struct clock_fit fit = {.tsc_hz = (double)noise->tsc_hz};

	(void)clock_line(noise->points, 2 * CLOCK_POINTS, &fit);
	fprintf(out,
		",\"clock\":{\"nominal_tsc_hz\":%" PRIu64 ",\"tsc_hz\":%.3f,\"residual_ns\":%.1f}"
		",\"histogram_resolution\":{\"exact_below_ns\":%" PRIu64
		",\"relative_above\":%.3g}",
		noise->tsc_hz, fit.tsc_hz, fit.residual_ns,
		clock_ns(UINT64_C(1) << HISTOGRAM_EXACT_BITS, noise->tsc_hz),
		ldexp(1, -HISTOGRAM_SUB_BITS));
}

static void print_periods(FILE *out, const struct poll_gap *poll, uint64_t tsc_hz)
{
	struct histogram_bucket least = {0};
	size_t cursor = 0;

	(void)histogram_next(poll->periods, &cursor, &least);
	fprintf(out, ",\"period_ns\":{\"min\":%" PRIu64, clock_ns(least.value, tsc_hz));
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		fprintf(out, ",\"%s\":%" PRIu64, percentiles[i].name,
			clock_ns(
				histogram_percentile(poll->periods, percentiles[i].share), tsc_hz));
	fprintf(out, "},\"over\":[");
	for (size_t i = 0; i < sizeof(thresholds_ns) / sizeof(thresholds_ns[0]); i++)
		fprintf(out, "%s{\"threshold_ns\":%" PRIu64 ",\"gaps\":%" PRIu64 "}",
			i > 0 ? "," : "", thresholds_ns[i],
			poll_gap_count_over(poll, clock_ticks(thresholds_ns[i], tsc_hz)));
	fputc(']', out);
}

static void print_core(FILE *out, const struct noise *noise, const struct noise_core *core)
{
	const struct poll_gap *poll = &core->poll;
	uint64_t hz = noise->tsc_hz;
	// The period that was under way at the start began before it.
	uint64_t at_tsc =
		poll->worst_start_tsc > noise->start_tsc ? poll->worst_start_tsc : noise->start_tsc;

	fprintf(out, "{\"core\":%d,\"samples\":%" PRIu64 ",\"duration_ns\":%" PRIu64, core->core,
		histogram_total(poll->periods), clock_ns(poll->last_tsc - poll->first_tsc, hz));
	print_periods(out, poll, hz);
	fprintf(out,
		",\"gaps\":{\"n\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"not_logged\":%" PRIu64 "}",
		poll->gaps.n, clock_ns(poll->gaps.total_ticks, hz), poll->gaps.not_logged);
	fprintf(out, ",\"worst\":{\"ns\":%" PRIu64 ",\"at_ns\":%" PRIu64 "}}",
		clock_ns(poll->worst_ticks, hz), clock_ns(at_tsc - noise->start_tsc, hz));
}

void report_print(FILE *out, const struct noise *noise, bool was_interrupted)
{
	fprintf(out,
		"{\"format\":1,\"version\":\"%s\",\"stop\":\"%s\",\"duration_ns\":%" PRIu64
		",\"threshold_ns\":%" PRIu64 ",\"priority\":%d,\"start_tsc\":%" PRIu64,
		TAUT_VERSION, was_interrupted ? "signal" : "duration", noise->config.duration_ns,
		noise->config.threshold_ns, noise->config.priority, noise->start_tsc);
	print_clock(out, noise);
	fprintf(out, ",\"cores\":[");
	for (size_t i = 0; i < noise->n_cores; i++) {
		fputs(i > 0 ? "," : "", out);
		print_core(out, noise, &noise->cores[i]);
	}
	fprintf(out, "]}\n");
}

static struct record_file_header header_of(const struct noise *noise, const struct noise_core *core)
{
	struct record_file_header header = {
		.epoch_tsc = noise->start_tsc,
		.nominal_tsc_hz = noise->tsc_hz,
		.first = noise->points[0],
	};

	snprintf(header.thread, sizeof(header.thread), "noise-%d", core->core);
	return header;
}

static int write_histogram(const struct histogram *histogram, const char *path,
	const struct record_file_header *header, const struct clock_point *last)
{
	struct histogram_record records[BATCH];
	struct histogram_bucket bucket;
	struct record_file file;
	size_t n = 0;
	int err = record_file_create(&file, path, RECORD_HISTOGRAM, header);

	if (err < 0)
		return err;
	for (size_t cursor = 0; err == 0 && histogram_next(histogram, &cursor, &bucket);) {
		records[n++] = (struct histogram_record){
			.value_ticks = (int64_t)bucket.value,
			.width_ticks = bucket.width,
			.count = bucket.count,
			.series = SERIES_POLL_PERIOD,
		};
		if (n < BATCH)
			continue;
		err = record_file_append(&file, records, n);
		n = 0;
	}
	if (err == 0)
		err = record_file_append(&file, records, n);
	int close_err = record_file_close(&file, last);
	return err < 0 ? err : close_err;
}

static int write_core(const struct noise *noise, const struct noise_core *core, const char *folder)
{
	const struct clock_point *last = &noise->points[2 * CLOCK_POINTS - 1];
	struct record_file_header header = header_of(noise, core);
	char path[PATH_LEN];

	snprintf(path, sizeof(path), "%s/gaps_%d.bin", folder, core->core);
	int err = gap_log_write(&core->poll.gaps, path, &header, last);
	snprintf(path, sizeof(path), "%s/histogram_%d.bin", folder, core->core);
	return err < 0 ? err : write_histogram(core->poll.periods, path, &header, last);
}

static int close_checked(FILE *file)
{
	int err = fflush(file) != 0 || ferror(file) ? -errno : 0;

	if (fclose(file) != 0 && err == 0)
		err = -errno;
	return err;
}

int report_write(const struct noise *noise, const char *folder, bool was_interrupted)
{
	char path[PATH_LEN], temporary[PATH_LEN + 8];
	int err = 0;

	for (size_t i = 0; err == 0 && i < noise->n_cores; i++)
		err = write_core(noise, &noise->cores[i], folder);
	if (err < 0)
		return err;
	snprintf(path, sizeof(path), "%s/noise.json", folder);
	snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	FILE *file = fopen(temporary, "we");
	if (file == NULL)
		return -errno;
	report_print(file, noise, was_interrupted);
	err = close_checked(file);
	if (err == 0 && rename(temporary, path) < 0)
		err = -errno;
	if (err < 0)
		(void)unlink(temporary);
	return err;
}
