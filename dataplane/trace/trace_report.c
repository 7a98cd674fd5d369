#include "trace_report.h"

#include "arm.h"
#include "json_file.h"
#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>

enum { PATH_LEN = 4096 };

static void print_kernel(struct json *json)
{
	struct utsname kernel;

	if (uname(&kernel) == 0)
		json_text(json, "kernel", kernel.release);
}

static void print_cores(struct json *json, const cpu_set_t *cores)
{
	json_array(json, "cores");
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, cores))
			json_u64(json, NULL, cpu);
	json_end(json);
}

static void print_rows(struct json *json, const struct collector *collector)
{
	json_array(json, "events");
	for (size_t i = 0; i < n_event_rows; i++)
		if (collector->rows[i] == ROW_ON)
			json_text(json, NULL, event_rows[i].name);
	json_end(json);
	json_array(json, "missing");
	for (size_t i = 0; i < n_event_rows; i++) {
		const char *why = arm_why_missing(collector->rows[i]);
		if (why == NULL)
			continue;
		json_object(json, NULL);
		json_text(json, "event", event_rows[i].name);
		json_text(json, "costs", event_groups[event_rows[i].group].costs);
		json_text(json, "why", why);
		json_end(json);
	}
	json_end(json);
}

static void print_names(struct json *json, const char *member, const struct name_map *map)
{
	struct name_entry **sorted;
	long n = name_map_sorted(map, &sorted);

	if (n < 0) {
		json_fail(json, (int)n);
		return;
	}
	json_object(json, member);
	for (long i = 0; i < n; i++) {
		if (sorted[i]->text[0] == '\0')
			continue;
		json_name_u64(json, sorted[i]->key);
		json_text(json, NULL, sorted[i]->text);
	}
	json_end(json);
	free(sorted);
}

static void print_lost(struct json *json, const struct collector *collector)
{
	json_array(json, "lost");
	for (size_t i = 0; i < collector->n_streams; i++) {
		const struct stream *stream = &collector->streams[i];
		uint64_t n = stream_lost(stream);
		if (n == 0)
			continue;
		json_object(json, NULL);
		json_i64(json, "cpu", stream->config.cpu);
		json_u64(json, "n", n);
		json_text(json, "of", i < collector->n_core_streams ? "core" : "initiators");
		json_end(json);
	}
	json_end(json);
}

// What was kept and why not the rest.
static void print_tail(struct json *json, const struct collector *collector)
{
	const struct tail *tail = &collector->tail;
	const struct tail_config *config = &collector->tail_config;

	json_object(json, "tail");
	json_text(json, "over", collector->config->over);
	json_u64(json, "threshold_ns", clock_ns(tail->late.threshold_ticks, collector->tsc_hz));
	json_u64(json, "margin_ns", config->late.margin_ns);
	json_u64(json, "packets", tail->late.n_all);
	json_u64(json, "late", tail->late.n_late);
	json_u64(json, "gone", tail->late.n_lost);
	json_u64(json, "told_late", tail->late.n_told_late);
	json_u64(json, "kept", tail->n_kept);
	json_u64(json, "skipped", tail->n_skipped);
	json_u64(json, "lost", tail->n_lost);
	json_u64(json, "over_disk", tail->n_over_disk);
	json_u64(json, "memory_bytes", config->memory_bytes);
	json_u64(json, "most_bytes", event_queue_most_chunks(tail->queue) * EVENT_CHUNK_BYTES);
	json_u64(json, "disk_bytes", config->disk_bytes);
	json_end(json);
}

// What the collector itself took: the processor's time, most memory, reads.
static void print_cost(struct json *json, const struct collector *collector)
{
	struct rusage usage;
	uint64_t n_read = 0, n_pages = 0;

	(void)getrusage(RUSAGE_SELF, &usage);
	for (size_t i = 0; i < collector->n_streams; i++) {
		n_read += collector->streams[i].n_events;
		n_pages += collector->streams[i].n_pages;
	}
	json_object(json, "cost");
	json_u64(json, "cpu_us",
		(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
	json_i64(json, "max_rss_kb", usage.ru_maxrss);
	json_u64(json, "events_read", n_read);
	json_u64(json, "pages_read", n_pages);
	json_u64(json, "pages_read_live", collector->n_pages_live);
	json_u64(json, "drains", collector->n_drains);
	json_u64(json, "rests", collector->pace.n_rests);
	json_end(json);
}

static void print_all_names(struct json *json, const struct trace_names *names)
{
	print_names(json, "threads", &names->threads);
	print_names(json, "functions", &names->addresses);
	print_names(json, "irqs", &names->irqs);
	json_object(json, "unnamed");
	json_u64(json, "threads", names->threads.n_refused);
	json_u64(json, "functions", names->addresses.n_refused);
	json_u64(json, "irqs", names->irqs.n_refused);
	json_end(json);
}

struct report {
	const struct collector *collector;
	bool was_interrupted;
};

static void print(struct json *json, const void *context)
{
	const struct report *report = context;
	const struct collector *collector = report->collector;
	const struct trace_config *config = collector->config;

	json_object(json, NULL);
	json_u64(json, "format", 1);
	json_text(json, "version", TAUT_VERSION);
	print_kernel(json);
	json_text(json, "clock", collector->clock.is_tsc ? "x86-tsc" : "mono_raw");
	json_text(json, "mode", config->is_tail ? "tail" : "continuous");
	json_text(json, "stop", report->was_interrupted ? "signal" : "duration");
	json_u64(json, "buffer_bytes", config->buffer_bytes);
	json_u64(json, "armed_tsc", collector->armed_tsc);
	json_u64(json, "stopped_tsc", collector->stopped_tsc);
	if (config->is_tail)
		print_tail(json, collector);
	print_cores(json, &config->cores);
	print_rows(json, collector);
	print_all_names(json, &collector->names);
	print_lost(json, collector);
	json_object(json, "counters");
	json_raw(json, "before", collector->before_text);
	json_raw(json, "after", collector->after_text);
	json_end(json);
	json_u64(json, "n_out_of_order", collector->n_out_of_order);
	print_cost(json, collector);
	json_u64(json, "n_events", collector->file.header.n_records);
	json_end(json);
}

int trace_report_write(struct collector *collector, bool was_interrupted)
{
	const struct report report = {collector, was_interrupted};
	char path[PATH_LEN];

	// Without them addresses stay numbers: said by their absence.
	(void)symbols_name_seen(&collector->names.addresses, collector->config->root);
	snprintf(path, sizeof(path), "%s/trace.json", collector->config->out);
	return json_file_write(path, print, &report);
}
