#include "collector.h"

#include "arm.h"
#include "counters.h"
#include "cpu_list.h"
#include "symbols.h"
#include "thread_names.h"
#include "tracefs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PATH_LEN = 4096,
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
	// Kernels that wake a reader for every event shall not keep it busy.
	REST_NS = 20 * NS_PER_MS,
	LOOK_S = 1, // between two looks at the followed file
	// Their filter lets pass only what concerns a watched core: of a device that is woken for
	// each packet up to two events, where the core has ten.
	ALL_SHARE = 4,
	ALL_BYTES_MIN = 128 << 10,
};

static int start_clock(struct collector *collector)
{
	struct clock_fit fit;
	char *clocks = tracefs_read(collector->config->root, "trace_clock");

	collector->clock.is_tsc = !collector->config->wants_mono_raw && clocks != NULL &&
				  strstr(clocks, "x86-tsc") != NULL;
	free(clocks);
	clock_points_take(collector->points, CLOCK_POINTS, CLOCK_POINTS_SPREAD_NS);
	int err = clock_fit(collector->points, CLOCK_POINTS, &fit);
	if (err < 0)
		return err;
	collector->tsc_hz = (uint64_t)(fit.tsc_hz + 0.5);
	collector->clock.before = collector->points[0];
	collector->clock.after = collector->points[CLOCK_POINTS - 1];
	return 0;
}

static void read_online(cpu_set_t *out, const cpu_set_t *at_least)
{
	char *text = tracefs_read("/sys/devices/system/cpu", "online");

	if (text == NULL || cpu_list_parse(text, out) < 0)
		*out = *at_least;
	free(text);
}

static int make_instances(struct collector *collector, const cpu_set_t *online, struct error *error)
{
	const struct trace_config *config = collector->config;
	uint64_t all_bytes = config->buffer_bytes / ALL_SHARE;
	struct instance_config core = {
		.root = config->root,
		.clock = collector->clock.is_tsc ? "x86-tsc" : "mono_raw",
		.cpus = config->cores,
		.buffer_bytes = config->buffer_bytes,
	};
	struct instance_config all = core;

	all.is_all = true;
	all.cpus = *online;
	all.buffer_bytes = all_bytes < ALL_BYTES_MIN ? ALL_BYTES_MIN : all_bytes;
	if (all.buffer_bytes > config->buffer_bytes)
		all.buffer_bytes = config->buffer_bytes;
	int err = instance_make(&collector->core, &core, error);
	return err < 0 ? err : instance_make(&collector->all, &all, error);
}

static int open_streams_of(struct collector *collector, const struct instance *instance,
	const cpu_set_t *cpus, struct error *error)
{
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cpus))
			continue;
		struct stream_config config = {
			.instance = instance_path(instance),
			.cpu = (int)cpu,
			.tells_lost = instance == collector->core,
			.decoder = collector->decoder,
			.layout = &collector->layout,
		};
		int err = stream_open(&collector->streams[collector->n_streams], &config);
		if (err < 0) {
			error_set(error, "%s: events of CPU %zu cannot be read: %s",
				instance_path(instance), cpu, strerror(-err));
			return err;
		}
		collector->n_streams++;
	}
	return 0;
}

static int open_streams(struct collector *collector, const cpu_set_t *online, struct error *error)
{
	size_t most = (size_t)CPU_COUNT(&collector->config->cores) + (size_t)CPU_COUNT(online);
	char *header = tracefs_read(instance_path(collector->core), "events/header_page");
	int err = header == NULL ? -ENOENT : trace_page_layout_parse(header, &collector->layout);

	free(header);
	if (err < 0) {
		error_set(error, "%s/events/header_page: not understood; is it a new kernel?",
			instance_path(collector->core));
		return err;
	}
	collector->streams = calloc(most, sizeof(*collector->streams));
	void **sources = calloc(most, sizeof(*sources));
	err = collector->streams == NULL || sources == NULL ? -ENOMEM : 0;
	if (err == 0)
		err = open_streams_of(collector, collector->core, &collector->config->cores, error);
	collector->n_core_streams = collector->n_streams;
	if (err == 0)
		err = open_streams_of(collector, collector->all, online, error);
	for (size_t i = 0; err == 0 && i < collector->n_streams; i++)
		sources[i] = &collector->streams[i];
	if (err == 0)
		err = merge_create(&collector->merge, stream_next, sources, collector->n_streams);
	free(sources);
	return err;
}

static int open_file(struct collector *collector, struct error *error)
{
	char path[PATH_LEN];
	struct record_file_header header = {
		.epoch_tsc = collector->points[0].tsc,
		.nominal_tsc_hz = collector->tsc_hz,
		.first = collector->points[0],
		.thread = "kernel",
	};

	snprintf(path, sizeof(path), "%s/events.bin", collector->config->out);
	int err = record_file_create(&collector->file, path, RECORD_EVENT, &header);
	if (err < 0)
		error_set(error, "%s: %s", path, strerror(-err));
	return err;
}

static char *read_counters(struct collector *collector, bool is_before)
{
	const struct trace_config *config = collector->config;

	return counters_text(&config->cores, config->threads, config->n_threads,
		collector->throttling, is_before);
}

static int flush(struct collector *collector)
{
	int err = record_file_append(&collector->file, collector->batch, collector->n_batch);

	collector->n_batch = 0;
	return err;
}

// A tail_write, and what is kept of all.
static int write_record(void *context, const struct event_record *record)
{
	struct collector *collector = context;

	collector->batch[collector->n_batch++] = *record;
	return collector->n_batch == TRACE_BATCH ? flush(collector) : 0;
}

static int open_tail(struct collector *collector)
{
	if (!collector->config->is_tail)
		return 0;
	collector->tail_config = collector->config->tail;
	collector->tail_config.late.tsc_hz = collector->tsc_hz;
	collector->tail_config.cores = &collector->config->cores;
	collector->tail_config.pace = &collector->pace;
	collector->tail_config.late.pace = &collector->pace;
	return tail_open(
		&collector->tail, &collector->tail_config, clock_tsc(), write_record, collector);
}

static void rest(void *context)
{
	const struct trace_config *config = ((struct collector *)context)->config;
	const struct timespec pause = {.tv_nsec = PACE_REST_MS * NS_PER_MS};

	// Once it is stopped nobody is disturbed any more.
	if (*config->stop == 0)
		(void)ppoll(NULL, 0, &pause, &config->wait_mask);
}

static void set_pace(struct collector *collector)
{
	collector->pace = (struct pace){.rest = rest, .context = collector};
	if (collector->config->is_on_watched_core)
		collector->pace.piece_ticks = clock_ticks(PACE_PIECE_NS, collector->tsc_hz);
}

static void begin(struct collector *collector)
{
	// Switching events on patched the kernel's code and interrupted every CPU: that is over
	// before recording begins.
	collector->before_text = read_counters(collector, true);
	uint64_t stamp = trace_clock_now(&collector->clock);
	collector->armed_tsc = collector->clock.is_tsc ? stamp : clock_tsc();
	for (size_t i = 0; i < collector->n_streams; i++)
		stream_start(&collector->streams[i], stamp);
	(void)instance_switch(collector->all, true);
	(void)instance_switch(collector->core, true);
}

int collector_open(
	struct collector *collector, const struct trace_config *config, struct error *error)
{
	cpu_set_t online;

	*collector = (struct collector){.config = config, .file = {.fd = -1}};
	trace_names_init(&collector->names, config->is_tail);
	error_set(error, "out of memory");
	collector->decoder = decoder_create(&config->cores, &collector->names);
	collector->batch = malloc(TRACE_BATCH * sizeof(*collector->batch));
	collector->throttling = throttling_create("");
	if (collector->decoder == NULL || collector->batch == NULL || collector->throttling == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < config->n_threads; i++)
		(void)name_map_take(&collector->names.threads, config->threads[i]);
	int err = start_clock(collector);
	if (err < 0) {
		error_set(error, "the clock does not advance; see taut-clock");
		return err;
	}
	set_pace(collector);
	read_online(&online, &config->cores);
	err = make_instances(collector, &online, error);
	if (err == 0)
		err = open_streams(collector, &online, error);
	if (err == 0)
		err = arm_events(collector, error);
	if (err == 0)
		err = open_file(collector, error);
	if (err == 0 && (err = open_tail(collector)) < 0)
		error_set(error, "out of memory");
	if (err == 0)
		begin(collector);
	return err;
}

// Take every record before stamp, in order.
static int drain(struct collector *collector, uint64_t before)
{
	struct event_record record;
	int err = 0;

	trace_clock_advance(&collector->clock);
	merge_refill(collector->merge);
	while (err == 0 && merge_take(collector->merge, before, &record)) {
		record.tsc = trace_clock_ticks(&collector->clock, record.tsc);
		if (record.kind == EVENT_LOST)
			record.args[1] = trace_clock_ticks(&collector->clock, record.args[1]);
		if (record.tsc < collector->last_tsc)
			collector->n_out_of_order++;
		else
			collector->last_tsc = record.tsc;
		if (collector->config->is_tail)
			tail_take(&collector->tail, &record);
		else
			err = write_record(collector, &record);
		pace_step(&collector->pace);
	}
	for (size_t i = 0; err == 0 && i < collector->n_streams; i++)
		err = collector->streams[i].error;
	thread_names_ask(&collector->names.threads, &collector->n_threads_asked, &collector->pace);
	collector->n_drains++;
	return err;
}

// What is left of the duration; false when nothing is. Time is told by the TSC.
static bool time_left(const struct collector *collector, struct timespec *out)
{
	uint64_t duration_ns = collector->config->duration_ns;
	uint64_t passed_ns = clock_ns(clock_tsc() - collector->armed_tsc, collector->tsc_hz);

	if (duration_ns == 0) {
		*out = (struct timespec){.tv_sec = 3600};
		return true;
	}
	if (passed_ns >= duration_ns)
		return false;
	uint64_t left_ns = duration_ns - passed_ns;
	*out = (struct timespec){(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
	return true;
}

// Sleep until a buffer is half full, the followed file grew, all is over, or a signal came.
static int wait_and_drain(struct collector *collector, struct pollfd *files, struct error *error)
{
	const struct trace_config *config = collector->config;
	const struct timespec rest = {.tv_nsec = REST_NS};
	struct timespec left;
	int err = 0;

	while (err == 0 && *config->stop == 0 && time_left(collector, &left)) {
		if (config->is_tail && left.tv_sec >= LOOK_S)
			left = (struct timespec){.tv_sec = LOOK_S};
		int n = ppoll(files, collector->n_streams, &left, &config->wait_mask);
		if (n < 0 && errno != EINTR)
			return -errno;
		bool has_grown = config->is_tail && late_packets_has_grown(&collector->tail.late);
		if (n <= 0 && !has_grown)
			continue;
		pace_begin(&collector->pace);
		// What the file tells of has to be here first.
		err = drain(collector, trace_clock_settled(&collector->clock, collector->tsc_hz));
		if (err == 0 && config->is_tail)
			err = tail_decide(&collector->tail, error);
		if (err == 0 && *config->stop == 0)
			(void)ppoll(NULL, 0, &rest, &config->wait_mask);
	}
	return err;
}

static uint64_t n_pages_read(const struct collector *collector)
{
	uint64_t n = 0;

	for (size_t i = 0; i < collector->n_streams; i++)
		n += collector->streams[i].n_pages;
	return n;
}

static int finish(struct collector *collector, struct error *error)
{
	collector->pace.piece_ticks = 0;
	collector->n_pages_live = n_pages_read(collector);
	(void)instance_switch(collector->core, false);
	(void)instance_switch(collector->all, false);
	collector->stopped_tsc = clock_tsc();
	collector->after_text = read_counters(collector, false);
	// Twice: a source that ran dry in one round is asked again in the next.
	int err = drain(collector, UINT64_MAX);
	if (err == 0)
		err = drain(collector, UINT64_MAX);
	if (err == 0 && collector->config->is_tail)
		err = tail_finish(&collector->tail, collector->stopped_tsc, error);
	if (err == 0)
		err = flush(collector);
	clock_point_take(&collector->last);
	thread_names_fill(&collector->names.threads, collector->config->root);
	return err;
}

int collector_run(struct collector *collector, struct error *error)
{
	struct pollfd *files = calloc(collector->n_streams, sizeof(*files));
	struct error finish_error;

	if (files == NULL) {
		error_set(error, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < collector->n_streams; i++)
		files[i] = (struct pollfd){.fd = collector->streams[i].fd, .events = POLLIN};
	error->text[0] = '\0';
	int err = wait_and_drain(collector, files, error);
	int finish_err = finish(collector, &finish_error);
	free(files);
	if (err == 0 && finish_err < 0) {
		err = finish_err;
		*error = finish_error;
	}
	if (err < 0 && error->text[0] == '\0')
		error_set(error, "%s/events.bin: not all events were written: %s",
			collector->config->out, strerror(-err));
	return err;
}

int collector_close(struct collector *collector)
{
	for (size_t i = 0; i < collector->n_streams; i++)
		stream_close(&collector->streams[i]);
	instance_remove(collector->core);
	instance_remove(collector->all);
	int err = 0;
	if (collector->file.fd >= 0)
		err = record_file_close(&collector->file, &collector->last);
	merge_destroy(collector->merge);
	tail_close(&collector->tail);
	trace_names_destroy(&collector->names);
	free(collector->streams);
	decoder_destroy(collector->decoder);
	free(collector->batch);
	throttling_destroy(collector->throttling);
	free(collector->before_text);
	free(collector->after_text);
	return err;
}
