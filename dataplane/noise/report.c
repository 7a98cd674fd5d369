#include "report.h"

#include "histogram_file.h"
#include "json_file.h"

#include <math.h>

enum { PATH_LEN = 4096 };

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

static void print_clock(struct json *json, const struct noise *noise)
{
	struct clock_fit fit = {.tsc_hz = (double)noise->tsc_hz};

	(void)clock_line(noise->points, 2 * CLOCK_POINTS, &fit);
	json_object(json, "clock");
	json_u64(json, "nominal_tsc_hz", noise->tsc_hz);
	json_fixed(json, "tsc_hz", fit.tsc_hz, 3);
	json_fixed(json, "residual_ns", fit.residual_ns, 1);
	json_end(json);
	json_object(json, "histogram_resolution");
	json_u64(json, "exact_below_ns",
		clock_ns(UINT64_C(1) << HISTOGRAM_EXACT_BITS, noise->tsc_hz));
	json_double(json, "relative_above", ldexp(1, -HISTOGRAM_SUB_BITS), 3);
	json_end(json);
}

static void print_periods(struct json *json, const struct poll_gap *poll, uint64_t tsc_hz)
{
	struct histogram_bucket least = {0};
	size_t cursor = 0;

	(void)histogram_next(poll->periods, &cursor, &least);
	json_object(json, "period_ns");
	json_u64(json, "min", clock_ns(least.value, tsc_hz));
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		json_u64(json, percentiles[i].name,
			clock_ns(
				histogram_percentile(poll->periods, percentiles[i].share), tsc_hz));
	json_end(json);
	json_array(json, "over");
	for (size_t i = 0; i < sizeof(thresholds_ns) / sizeof(thresholds_ns[0]); i++) {
		uint64_t ticks = clock_ticks(thresholds_ns[i], tsc_hz);
		json_object(json, NULL);
		json_u64(json, "threshold_ns", thresholds_ns[i]);
		json_u64(json, "gaps", poll_gap_count_over(poll, ticks));
		json_end(json);
	}
	json_end(json);
}

static void print_core(struct json *json, const struct noise *noise, const struct noise_core *core)
{
	const struct poll_gap *poll = &core->poll;
	uint64_t hz = noise->tsc_hz;
	// The period that was under way at the start began before it.
	uint64_t at_tsc =
		poll->worst_start_tsc > noise->start_tsc ? poll->worst_start_tsc : noise->start_tsc;

	json_object(json, NULL);
	json_i64(json, "core", core->core);
	json_u64(json, "samples", histogram_total(poll->periods));
	json_u64(json, "duration_ns", clock_ns(poll->last_tsc - poll->first_tsc, hz));
	print_periods(json, poll, hz);
	json_object(json, "gaps");
	json_u64(json, "n", poll->gaps.n);
	json_u64(json, "total_ns", clock_ns(poll->gaps.total_ticks, hz));
	json_u64(json, "not_logged", poll->gaps.not_logged);
	json_end(json);
	json_object(json, "worst");
	json_u64(json, "ns", clock_ns(poll->worst_ticks, hz));
	json_u64(json, "at_ns", clock_ns(at_tsc - noise->start_tsc, hz));
	json_end(json);
	json_end(json);
}

struct report {
	const struct noise *noise;
	bool was_interrupted;
};

static void print(struct json *json, const void *context)
{
	const struct report *report = context;
	const struct noise *noise = report->noise;

	json_object(json, NULL);
	json_u64(json, "format", 1);
	json_text(json, "version", TAUT_VERSION);
	json_text(json, "stop", report->was_interrupted ? "signal" : "duration");
	json_u64(json, "duration_ns", noise->config.duration_ns);
	json_u64(json, "threshold_ns", noise->config.threshold_ns);
	json_i64(json, "priority", noise->config.priority);
	json_u64(json, "start_tsc", noise->start_tsc);
	print_clock(json, noise);
	json_array(json, "cores");
	for (size_t i = 0; i < noise->n_cores; i++)
		print_core(json, noise, &noise->cores[i]);
	json_end(json);
	json_end(json);
}

void report_print(FILE *out, const struct noise *noise, bool was_interrupted)
{
	const struct report report = {noise, was_interrupted};

	(void)json_file_print(out, print, &report); // the flush at the end tells
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
	static const struct histogram_record labels = {.series = SERIES_POLL_PERIOD};
	static struct histogram_file out;
	int err = record_file_create(&out.file, path, RECORD_HISTOGRAM, header);

	if (err < 0)
		return err;
	histogram_file_add_buckets(&out, histogram, &labels);
	return histogram_file_close(&out, last);
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

int report_write(const struct noise *noise, const char *folder, bool was_interrupted)
{
	const struct report report = {noise, was_interrupted};
	char path[PATH_LEN];
	int err = 0;

	for (size_t i = 0; err == 0 && i < noise->n_cores; i++)
		err = write_core(noise, &noise->cores[i], folder);
	snprintf(path, sizeof(path), "%s/noise.json", folder);
	return err < 0 ? err : json_file_write(path, print, &report);
}
