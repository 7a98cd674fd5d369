// generator.json: what was asked, what was done, what was counted.

#include "generator.h"
#include "json.h"
#include "result_files.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *stop_text(const struct generator *g)
{
	if (g->write_error == -ENOSPC || g->write_error == -EFBIG || g->write_error == -EDQUOT)
		return "disk-full";
	if (g->write_error != 0)
		return "write-error";
	if (g->was_interrupted)
		return "signal";
	return g->config->duration_ns == UINT64_MAX ? "count" : "duration";
}

static void print_clock_point(FILE *out, const char *name, const struct clock_point *point)
{
	fprintf(out,
		"\"%s\":{\"tsc\":%" PRIu64 ",\"mono_raw_ns\":%" PRIu64 ",\"width_ticks\":%" PRIu64
		"}",
		name, point->tsc, point->mono_raw_ns, point->width_ticks);
}

static void print_clock(FILE *out, const struct generator *g)
{
	struct clock_fit fit = {.tsc_hz = (double)g->tsc_hz};

	(void)clock_line(g->points, 2 * CLOCK_POINTS, &fit);
	fprintf(out,
		",\"clock\":{\"nominal_tsc_hz\":%" PRIu64 ",\"tsc_hz\":%.3f,\"residual_ns\":%.1f,",
		g->tsc_hz, fit.tsc_hz, fit.residual_ns);
	print_clock_point(out, "first", &g->points[0]);
	fputc(',', out);
	print_clock_point(out, "last", &g->points[2 * CLOCK_POINTS - 1]);
	fputc('}', out);
}

static void print_asked(FILE *out, const struct config *config)
{
	fprintf(out, ",\"asked\":{");
	for (size_t i = 0; i < n_generator_options; i++) {
		fprintf(out, "%s\"%s\":", i > 0 ? "," : "", generator_options[i].name);
		json_string(out, config_asked(config, &generator_options[i]));
	}
	fputc('}', out);
}

// From the epoch to the end of the schedule, or to where it was cut off.
static uint64_t duration_ns(const struct generator *g)
{
	const struct config *config = g->config;
	uint64_t end_ns = 0;

	if (g->stop == LOOP_SIGNAL || g->stop == LOOP_WRITE_ERROR)
		return clock_ns(g->send_end_tsc - g->epoch_tsc, g->tsc_hz);
	if (config->duration_ns != UINT64_MAX && config->count == UINT64_MAX)
		return config->options.warm_up_ns + config->duration_ns;
	for (uint32_t i = 0; i < g->n_directions; i++)
		if (g->loop.senders[i].built_ns > end_ns)
			end_ns = g->loop.senders[i].built_ns;
	return end_ns;
}

static void print_rates(FILE *out, const struct generator *g, const struct counters *sum)
{
	uint64_t schedule_ns = duration_ns(g);
	uint64_t sending_ns = schedule_ns;

	// A sender that was behind at the end took longer than its schedule.
	for (uint32_t i = 0; i < g->n_directions; i++) {
		uint64_t last_tsc = g->measurements[i].last_sent_tsc;
		if (last_tsc <= g->epoch_tsc)
			continue;
		uint64_t last_ns = clock_ns(last_tsc - g->epoch_tsc, g->tsc_hz);
		if (last_ns > sending_ns + g->config->quantum_ns)
			sending_ns = last_ns;
	}
	fprintf(out,
		",\"rate_pps\":%.6f,\"offered_pps\":%.6f,\"achieved_pps\":%.6f"
		",\"duration_ns\":%" PRIu64 ",\"warm_up_ns\":%" PRIu64 ",\"stop\":\"%s\"",
		traffic_rate_pps(&g->config->rate),
		schedule_ns > 0 ? (double)sum->due * 1e9 / (double)schedule_ns / g->n_directions
				: 0,
		sending_ns > 0 ? (double)sum->sent * 1e9 / (double)sending_ns / g->n_directions : 0,
		schedule_ns, g->config->options.warm_up_ns, stop_text(g));
}

static void print_frames(FILE *out, const struct frame_mix *mix)
{
	const char *separator = "";
	uint16_t before = 0;

	fprintf(out, ",\"frames\":[");
	// Smallest first; the shuffle of the run has left the pattern in any order.
	while (true) {
		uint16_t len = UINT16_MAX;
		uint32_t n = 0;
		for (uint32_t i = 0; i < mix->n; i++)
			if (mix->pattern[i] > before && mix->pattern[i] < len)
				len = mix->pattern[i];
		for (uint32_t i = 0; i < mix->n; i++)
			n += mix->pattern[i] == len;
		if (n == 0)
			break;
		fprintf(out, "%s{\"len\":%u,\"share\":%.9g}", separator, len, (double)n / mix->n);
		separator = ",";
		before = len;
	}
	fputc(']', out);
}

static void print_counters(FILE *out, const struct counters *counters)
{
	for (size_t i = 0; i < n_counter_names; i++)
		fprintf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "{", counter_names[i].name,
			counters_get(counters, i));
	fputc('}', out);
}

static void print_gaps(FILE *out, const struct generator *g)
{
	const struct gap_log *log = &g->loop.gaps.log;

	fprintf(out,
		",\"gaps\":{\"n\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
		",\"not_logged\":%" PRIu64 ",\"threshold_ns\":%" PRIu64
		",\"per_packet_ns\":%" PRIu64 ",\"longest_granted_ns\":%" PRIu64 "}",
		log->n, clock_ns(log->total_ticks, g->tsc_hz), clock_ns(log->max_ticks, g->tsc_hz),
		log->not_logged, g->config->gap_threshold_ns, g->config->gap_per_packet_ns,
		clock_ns(g->loop.gaps.longest_granted_ticks, g->tsc_hz));
}

static void print_instrument(FILE *out, const struct generator *g)
{
	static const char *const modes[] = {"all", "tail", "none"};
	const struct loop *loop = &g->loop;

	print_gaps(out, g);
	fprintf(out,
		",\"loop\":{\"iterations\":%" PRIu64 ",\"min_ns\":%" PRIu64 ",\"near_ns\":%" PRIu64
		",\"quantum_ns\":%" PRIu64 "}",
		loop->n_iterations,
		loop->n_iterations > 0 ? clock_ns(loop->min_ticks, g->tsc_hz) : 0,
		clock_ns(loop->near_ticks, g->tsc_hz), g->config->quantum_ns);
	fprintf(out,
		",\"records\":{\"mode\":\"%s\",\"n\":%" PRIu64 ",\"bytes\":%" PRIu64
		",\"lost\":%" PRIu64 ",\"stalls\":%" PRIu64 ",\"tail_threshold_ns\":%" PRIu64 "}",
		modes[g->config->options.record], g->n_records,
		g->n_records * sizeof(struct packet_record), g->n_records_lost, g->n_stalls,
		clock_ns(g->measurements[0].tail.ticks_q16 >> 16, g->tsc_hz));
	fprintf(out, ",\"in_flight\":{\"capacity\":%" PRIu64 ",\"deadline_ns\":%" PRIu64 "}",
		g->measurements[0].in_flight.mask + 1, g->config->options.deadline_ns);
	fprintf(out,
		",\"histogram_resolution\":{\"exact_below_ns\":%" PRIu64
		",\"relative_above\":%.3g}",
		clock_ns(UINT64_C(1) << HISTOGRAM_EXACT_BITS, g->tsc_hz),
		ldexp(1, -HISTOGRAM_SUB_BITS));
}

static void print_summary(FILE *out, const struct generator *g)
{
	struct counters sum = {0};

	for (uint32_t i = 0; i < g->n_directions; i++)
		counters_add(&sum, &g->measurements[i].counters);
	fprintf(out,
		"{\"format\":1,\"version\":\"%s\",\"run_id\":%" PRIu32 ",\"epoch_tsc\":%" PRIu64,
		TAUT_VERSION, g->config->run_id, g->epoch_tsc);
	print_clock(out, g);
	print_asked(out, g->config);
	print_rates(out, g, &sum);
	fprintf(out, ",\"flows\":%" PRIu64, g->config->options.flows);
	print_frames(out, &g->config->mix);
	fprintf(out, ",\"core\":%d,\"memory\":\"%s\",\"counters\":", g->eal.core,
		eal_memory(&g->eal));
	print_counters(out, &sum);
	fprintf(out, ",\"directions\":[");
	for (uint32_t i = 0; i < g->n_directions; i++) {
		fputs(i > 0 ? "," : "", out);
		print_counters(out, &g->measurements[i].counters);
	}
	fputc(']', out);
	print_instrument(out, g);
	fprintf(out, "}\n");
}

static int close_checked(FILE *file)
{
	int err = fflush(file) != 0 || ferror(file) ? -errno : 0;

	if (fclose(file) != 0 && err == 0)
		err = -errno;
	return err;
}

int summary_write(const struct generator *g)
{
	char path[512], temporary[520];

	generator_path(g, "generator.json", path, sizeof(path));
	snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	if (g->config->options.json) {
		print_summary(stdout, g);
		fflush(stdout);
	}
	FILE *file = fopen(temporary, "we");
	if (file == NULL)
		return -errno;
	print_summary(file, g);
	int err = close_checked(file);
	if (err == 0 && rename(temporary, path) < 0)
		err = -errno;
	if (err < 0)
		(void)unlink(temporary);
	return err;
}
