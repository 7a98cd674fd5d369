#include "trace_report.h"

#include "arm.h"
#include "json.h"
#include "symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_LEN = 4096 };

static void print_cores(FILE *out, const cpu_set_t *cores)
{
	const char *between = "";

	fputs(",\"cores\":[", out);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cores))
			continue;
		fprintf(out, "%s%zu", between, cpu);
		between = ",";
	}
	fputc(']', out);
}

static void print_rows(FILE *out, const struct collector *collector)
{
	const char *between = "";

	fputs(",\"events\":[", out);
	for (size_t i = 0; i < n_event_rows; i++) {
		if (collector->rows[i] != ROW_ON)
			continue;
		fputs(between, out);
		json_string(out, event_rows[i].name);
		between = ",";
	}
	fputs("],\"missing\":[", out);
	between = "";
	for (size_t i = 0; i < n_event_rows; i++) {
		const char *why = arm_why_missing(collector->rows[i]);
		if (why == NULL)
			continue;
		fprintf(out, "%s{\"event\":", between);
		json_string(out, event_rows[i].name);
		fputs(",\"costs\":", out);
		json_string(out, event_groups[event_rows[i].group].costs);
		fputs(",\"why\":", out);
		json_string(out, why);
		fputc('}', out);
		between = ",";
	}
	fputc(']', out);
}

static int print_names(FILE *out, const char *member, const struct name_map *map)
{
	struct name_entry **sorted;
	const char *between = "";
	long n = name_map_sorted(map, &sorted);

	if (n < 0)
		return (int)n;
	fprintf(out, ",\"%s\":{", member);
	for (long i = 0; i < n; i++) {
		if (sorted[i]->text[0] == '\0')
			continue;
		fprintf(out, "%s\"%" PRIu64 "\":", between, sorted[i]->key);
		json_string(out, sorted[i]->text);
		between = ",";
	}
	fputc('}', out);
	free(sorted);
	return 0;
}

static void print_lost(FILE *out, const struct collector *collector)
{
	const char *between = "";

	fputs(",\"lost\":[", out);
	for (size_t i = 0; i < collector->n_streams; i++) {
		const struct stream *stream = &collector->streams[i];
		uint64_t n = stream_lost(stream);
		if (n == 0)
			continue;
		fprintf(out, "%s{\"cpu\":%d,\"n\":%" PRIu64 ",\"of\":\"%s\"}", between,
			stream->config.cpu, n,
			i < collector->n_core_streams ? "core" : "initiators");
		between = ",";
	}
	fputc(']', out);
}

// What was kept and why not the rest.
static void print_tail(FILE *out, const struct collector *collector)
{
	const struct tail *tail = &collector->tail;
	const struct tail_config *config = &collector->tail_config;

	fputs(",\"tail\":{\"over\":", out);
	json_string(out, collector->config->over);
	fprintf(out,
		",\"threshold_ns\":%" PRIu64 ",\"margin_ns\":%" PRIu64 ",\"packets\":%" PRIu64
		",\"late\":%" PRIu64 ",\"gone\":%" PRIu64 ",\"told_late\":%" PRIu64,
		clock_ns(tail->late.threshold_ticks, collector->tsc_hz), config->late.margin_ns,
		tail->late.n_packets, tail->late.n_late, tail->late.n_lost, tail->late.n_told_late);
	fprintf(out,
		",\"kept\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"lost\":%" PRIu64
		",\"over_disk\":%" PRIu64,
		tail->n_kept, tail->n_skipped, tail->n_lost, tail->n_over_disk);
	fprintf(out,
		",\"memory_bytes\":%" PRIu64 ",\"most_bytes\":%" PRIu64 ",\"disk_bytes\":%" PRIu64
		"}",
		config->memory_bytes, (uint64_t)tail->queue.most_chunks * EVENT_CHUNK_BYTES,
		config->disk_bytes);
}

// What the collector itself took: the processor's time, most memory, reads.
static void print_cost(FILE *out, const struct collector *collector)
{
	struct rusage usage;
	uint64_t n_read = 0, n_pages = 0;

	(void)getrusage(RUSAGE_SELF, &usage);
	for (size_t i = 0; i < collector->n_streams; i++) {
		n_read += collector->streams[i].n_events;
		n_pages += collector->streams[i].n_pages;
	}
	uint64_t cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	fprintf(out,
		",\"cost\":{\"cpu_us\":%" PRIu64 ",\"max_rss_kb\":%ld,\"events_read\":%" PRIu64
		",\"pages_read\":%" PRIu64 ",\"pages_read_live\":%" PRIu64 ",\"drains\":%" PRIu64
		",\"rests\":%" PRIu64 "}",
		cpu_us, usage.ru_maxrss, n_read, n_pages, collector->n_pages_live,
		collector->n_drains, collector->pace.n_rests);
}

static int print(FILE *out, const struct collector *collector, bool was_interrupted)
{
	const struct trace_config *config = collector->config;
	const struct trace_names *names = &collector->names;

	fprintf(out, "{\"format\":1,\"version\":\"%s\",\"clock\":\"%s\"", TAUT_VERSION,
		collector->clock.is_tsc ? "x86-tsc" : "mono_raw");
	fprintf(out,
		",\"mode\":\"%s\",\"stop\":\"%s\",\"buffer_bytes\":%" PRIu64
		",\"armed_tsc\":%" PRIu64 ",\"stopped_tsc\":%" PRIu64,
		config->is_tail ? "tail" : "continuous", was_interrupted ? "signal" : "duration",
		config->buffer_bytes, collector->armed_tsc, collector->stopped_tsc);
	if (config->is_tail)
		print_tail(out, collector);
	print_cores(out, &config->cores);
	print_rows(out, collector);
	int err = print_names(out, "threads", &names->threads);
	if (err == 0)
		err = print_names(out, "functions", &names->addresses);
	if (err == 0)
		err = print_names(out, "irqs", &names->irqs);
	fprintf(out,
		",\"unnamed\":{\"threads\":%" PRIu64 ",\"functions\":%" PRIu64 ",\"irqs\":%" PRIu64
		"}",
		names->threads.n_refused, names->addresses.n_refused, names->irqs.n_refused);
	print_lost(out, collector);
	fprintf(out, ",\"counters\":{\"before\":%s,\"after\":%s}",
		collector->before_text != NULL ? collector->before_text : "null",
		collector->after_text != NULL ? collector->after_text : "null");
	fprintf(out, ",\"n_out_of_order\":%" PRIu64, collector->n_out_of_order);
	print_cost(out, collector);
	fprintf(out, ",\"n_events\":%" PRIu64 "}\n", collector->file.header.n_records);
	return err;
}

int trace_report_write(struct collector *collector, bool was_interrupted)
{
	char path[PATH_LEN], temporary[PATH_LEN + 8];
	const char *folder = collector->config->out;

	// Without them addresses stay numbers: said by their absence.
	(void)symbols_name_seen(&collector->names.addresses, collector->config->root);
	snprintf(path, sizeof(path), "%s/trace.json", folder);
	snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	FILE *file = fopen(temporary, "we");
	if (file == NULL)
		return -errno;
	int err = print(file, collector, was_interrupted);
	if (err == 0 && (fflush(file) != 0 || ferror(file)))
		err = -errno;
	if (fclose(file) != 0 && err == 0)
		err = -errno;
	if (err == 0 && rename(temporary, path) < 0)
		err = -errno;
	if (err < 0)
		(void)unlink(temporary);
	return err;
}
