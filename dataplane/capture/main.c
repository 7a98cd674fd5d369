// taut-match: finds each frame of one capture in another, in one pass over both, and writes what
// became of it: match.json, histograms.bin and, if asked, packets.bin and the frames' keys or
// heads. docs/matching.md defines the result.

#include "command_line.h"
#include "frame_stream.h"
#include "match.h"
#include "match_report.h"
#include "match_results.h"
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

enum {
	PATH_LEN = 4096,
	PROGRESS_INTERVAL_NS = 250000000,
};

struct match_options {
	const char *ingress, *egress, *key, *out;
	uint64_t window_ns, skip_ns;
	int64_t egress_offset_ns;
	double egress_drift_ppb;
	bool packets, keys, heads, progress;
};

#define OPTION(member) .offset = offsetof(struct match_options, member)

static const struct option_spec options_table[] = {
	{.name = "ingress",
		.metavar = "INGRESS",
		.type = OPTION_STRING,
		OPTION(ingress),
		.default_text = NULL,
		.help = "capture before the device: pcap or pcapng, plain, gzip or zstd; -: stdin"},
	{.name = "egress",
		.metavar = "EGRESS",
		.type = OPTION_STRING,
		OPTION(egress),
		.default_text = NULL,
		.help = "capture after the device"},
	{.name = "key",
		.metavar = "KEY",
		.type = OPTION_STRING,
		OPTION(key),
		.default_text = "default",
		.help = "what makes two frames one packet: default, routed, probe, or offsets as "
			"26-33,42-45/ffff0000"},
	{.name = "window",
		.type = OPTION_DURATION,
		OPTION(window_ns),
		.default_text = "5s",
		.min = 1,
		.max = UINT64_C(3600000000000),
		.help = "packets take less than this; memory grows with it"},
	{.name = "skip",
		.type = OPTION_DURATION,
		OPTION(skip_ns),
		.default_text = "0s",
		.max = UINT64_C(1) << 62,
		.help = "warm-up at the start, kept apart"},
	{.name = "out",
		.metavar = "DIR",
		.type = OPTION_STRING,
		OPTION(out),
		.default_text = ".",
		.help = "folder for the results; made if missing"},
	{.name = "packets",
		.type = OPTION_FLAG,
		OPTION(packets),
		.default_text = "off",
		.help = "write packets.bin: a record of every packet"},
	{.name = "keys",
		.type = OPTION_FLAG,
		OPTION(keys),
		.default_text = "off",
		.help = "write ingress_keys.bin and egress_keys.bin: every frame's key"},
	{.name = "heads",
		.type = OPTION_FLAG,
		OPTION(heads),
		.default_text = "off",
		.help = "write ingress_heads.bin: the first 128 bytes of every frame"},
	{.name = "egress-offset",
		.type = OPTION_SIGNED_DURATION,
		OPTION(egress_offset_ns),
		.default_text = "0ns",
		.help = "what to take off egress time stamps; -3ms adds 3 ms"},
	{.name = "egress-drift",
		.metavar = "NS",
		.type = OPTION_DOUBLE,
		OPTION(egress_drift_ppb),
		.default_text = "0",
		.help = "nanoseconds a second to take off egress time stamps"},
	{.name = "progress",
		.type = OPTION_FLAG,
		OPTION(progress),
		.default_text = "off",
		.help = "say on standard error how many bytes of each file are done"},
};

static const char *const positionals[] = {"ingress", "egress", NULL};

static const char *const examples[] = {
	"before.pcap after.pcap --skip 1s --out matched",
	NULL,
};

static const struct command_line line = {
	.program = "taut-match",
	.summary = "find each frame of one capture in another",
	.usage = "INGRESS EGRESS [OPTIONS]",
	.examples = examples,
	.version = TAUT_VERSION,
	.options = options_table,
	.n_options = sizeof(options_table) / sizeof(options_table[0]),
	.positionals = positionals,
};

// One side of the merge: the batch at hand and what of it is still to be fed.
struct side {
	struct frame_stream *stream;
	const struct frame_batch *batch; // NULL: the next is not read yet
	struct match_queue queue;
};

struct run {
	struct match_options options;
	struct key_spec key;
	struct frame_correction correction;
	uint64_t seed;
	struct side ingress, egress;
	struct match *match;
	struct match_results results;
	uint64_t next_progress_ns;
	bool has_begun, is_over;
	int error; // -ENOMEM of the match
};

static bool is_over(const struct side *side)
{
	return side->batch->n == 0;
}

static bool has_batch(struct side *side)
{
	if (side->batch != NULL)
		return true;
	side->batch = frame_stream_batch(side->stream);
	if (side->batch == NULL)
		return false;
	side->queue =
		(struct match_queue){side->batch->frames, side->batch->frames + side->batch->n};
	return true;
}

static bool can_match(void *context)
{
	struct run *run = context;

	return !run->is_over && has_batch(&run->ingress) && has_batch(&run->egress);
}

// The other file is over: what is left of this batch comes now.
static int feed_rest(struct run *run, struct side *side)
{
	int err = 0;

	for (; err == 0 && side->queue.next < side->queue.end; side->queue.next++)
		err = side == &run->ingress ? match_feed_ingress(run->match, side->queue.next)
					    : match_feed_egress(run->match, side->queue.next);
	return err;
}

// For a program that shows it.
static void say_progress(struct run *run)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (now_ns < run->next_progress_ns)
		return;
	run->next_progress_ns = now_ns + PROGRESS_INTERVAL_NS;
	fprintf(stderr, "progress %" PRIu64 " %" PRIu64 "\n", run->ingress.batch->n_bytes,
		run->egress.batch->n_bytes);
}

// Until a side's batch is used up.
static void match_some(void *context)
{
	struct run *run = context;

	if (!run->has_begun) {
		run->has_begun = true;
		if (!is_over(&run->ingress))
			run->results.first_ingress_ns = run->ingress.batch->frames[0].ts_ns;
		if (!is_over(&run->egress))
			run->results.first_egress_ns = run->egress.batch->frames[0].ts_ns;
	}
	if (is_over(&run->ingress))
		run->error = feed_rest(run, &run->egress);
	else if (is_over(&run->egress))
		run->error = feed_rest(run, &run->ingress);
	else
		run->error = match_feed(run->match, &run->ingress.queue, &run->egress.queue);
	if (run->options.progress)
		say_progress(run);
	run->is_over = run->error < 0 || (is_over(&run->ingress) && is_over(&run->egress));
	if (run->is_over && run->error == 0)
		match_end(run->match);
}

static void give_back(struct side *side)
{
	if (side->queue.next < side->queue.end)
		return;
	frame_stream_take(side->stream);
	side->batch = NULL;
}

static void give_back_both(void *context)
{
	struct run *run = context;

	give_back(&run->ingress);
	give_back(&run->egress);
}

static int match_frames(struct run *run)
{
	// What is nearest to the end first: it makes room for the others.
	const struct stage stages[] = {
		{can_match, match_some, give_back_both, run},
		frame_stream_stage(run->ingress.stream),
		frame_stream_stage(run->egress.stream),
	};
	const size_t n_stages = sizeof(stages) / sizeof(stages[0]);

	pipeline_run(stages, n_stages, pipeline_threads(n_stages));
	return run->error;
}

static int open_side(struct run *run, bool is_ingress, struct side *side, struct error *error)
{
	const struct match_options *options = &run->options;
	char keys[PATH_LEN];
	char heads[PATH_LEN];
	const char *name = is_ingress ? "ingress" : "egress";

	snprintf(keys, sizeof(keys), "%s/%s_keys.bin", options->out, name);
	snprintf(heads, sizeof(heads), "%s/%s_heads.bin", options->out, name);
	struct frame_stream_config config = {
		.path = is_ingress ? options->ingress : options->egress,
		.key = &run->key,
		.seed = run->seed,
		.hashes = is_ingress,
		.keys_path = options->keys ? keys : NULL,
		.heads_path = options->heads && is_ingress ? heads : NULL,
	};
	if (!is_ingress)
		config.correction = run->correction;
	return frame_stream_open(&config, &side->stream, error);
}

static int run_open(struct run *run, struct error *error)
{
	struct match_config config = {.window_ns = (int64_t)run->options.window_ns};

	run->correction.offset_ns = run->options.egress_offset_ns;
	run->correction.drift_ppb = run->options.egress_drift_ppb;
	int err = key_spec_parse(run->options.key, &run->key, error);
	if (err < 0)
		return err;
	// A seed nobody knows, so that nobody can make keys collide.
	if (getrandom(&run->seed, sizeof(run->seed), 0) < 0)
		run->seed = (uint64_t)time(NULL);
	err = program_make_out(run->options.out, error);
	if (err < 0)
		return err;
	err = open_side(run, true, &run->ingress, error);
	if (err == 0)
		err = open_side(run, false, &run->egress, error);
	if (err < 0)
		return err;
	err = match_results_init(&run->results, run->options.out, (int64_t)run->options.skip_ns,
		run->options.packets);
	config.key_stride = run->key.stride;
	config.key_seed = run->seed;
	struct match_sink sink = match_results_sink(&run->results);
	if (err == 0)
		err = match_create(&config, &sink, &run->match);
	if (err < 0)
		error_set(error, "out of memory");
	return err;
}

static int write_results(struct run *run)
{
	struct match_report report = {
		.ingress = {run->options.ingress, frame_stream_report(run->ingress.stream),
			frame_stream_totals(run->ingress.stream)},
		.egress = {run->options.egress, frame_stream_report(run->egress.stream),
			frame_stream_totals(run->egress.stream)},
		.counts = match_counts(run->match),
		.results = &run->results,
		.key = &run->key,
		.window_ns = (int64_t)run->options.window_ns,
		.skip_ns = (int64_t)run->options.skip_ns,
		.correction = run->correction,
	};
	int err = match_results_finish(&run->results);

	if (err == 0)
		err = frame_stream_error(run->ingress.stream);
	if (err == 0)
		err = frame_stream_error(run->egress.stream);
	return err == 0 ? match_report_write(&report, run->options.out) : err;
}

static void run_close(struct run *run)
{
	frame_stream_close(run->ingress.stream);
	frame_stream_close(run->egress.stream);
	match_results_fini(&run->results);
	match_destroy(run->match);
}

static int run_match(struct run *run)
{
	struct error error = {0};

	if (run_open(run, &error) < 0)
		return program_refuse(&error);
	if (match_frames(run) < 0) {
		LOG(ERROR, "out of memory: the window holds too many frames; lower --window");
		return EXIT_FAILED;
	}
	int err = write_results(run);
	return err < 0 ? program_not_written(run->options.out, err) : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct run *run = calloc(1, sizeof(*run));
	struct error error;
	int n_used;

	program_start(line.program, LOG_LEVEL_WARNING);
	if (run == NULL)
		return EXIT_FAILED;
	run->results.packets.fd = -1;
	int err = command_line_parse(&line, argc, argv, &run->options, &n_used, &error);
	int status = err < 0 ? program_refuse(&error) : program_flush();
	if (err == COMMAND_LINE_RUN) {
		status = run_match(run);
		run_close(run);
	}
	free(run);
	return status;
}
