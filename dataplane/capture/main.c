// taut-match: finds each frame of one capture in another, in one pass over both, and writes what
// became of it: match.json, histograms.bin and, if asked, packets.bin and the frames' keys or
// heads. docs/matching.md defines the result.

#include "command_line.h"
#include "match_report.h"
#include "match_stages.h"
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

enum { PATH_LEN = 4096 };

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
		.help = "what makes two frames one packet: default, routed, network, probe, or "
			"offsets as 26-33,42-45/ffff0000"},
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

struct run {
	struct match_options options;
	struct key_spec key;
	struct frame_correction correction;
	uint64_t seed;
	struct match_stages stages;
};

static int open_side(
	struct run *run, bool is_ingress, struct frame_stream **out, struct error *error)
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
		.window_ns = (int64_t)options->window_ns,
		.keys_path = options->keys ? keys : NULL,
		.heads_path = options->heads && is_ingress ? heads : NULL,
	};
	if (!is_ingress)
		config.correction = run->correction;
	return frame_stream_open(&config, out, error);
}

static int run_open(struct run *run, struct error *error)
{
	struct match_config config = {.window_ns = (int64_t)run->options.window_ns};

	run->stages.says_progress = run->options.progress;
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
	err = open_side(run, true, &run->stages.ingress.stream, error);
	if (err == 0)
		err = open_side(run, false, &run->stages.egress.stream, error);
	if (err < 0)
		return err;
	err = match_results_init(&run->stages.results, run->options.out,
		(int64_t)run->options.skip_ns, run->options.packets);
	config.key_stride = run->key.stride;
	config.key_seed = run->seed;
	if (err == 0)
		err = match_create(&config, &run->stages.match);
	if (err < 0)
		error_set(error, "out of memory");
	return err;
}

static int write_results(struct run *run)
{
	struct match_report report = {
		.ingress = {run->options.ingress, frame_stream_report(run->stages.ingress.stream),
			frame_stream_totals(run->stages.ingress.stream)},
		.egress = {run->options.egress, frame_stream_report(run->stages.egress.stream),
			frame_stream_totals(run->stages.egress.stream)},
		.counts = match_counts(run->stages.match),
		.results = &run->stages.results,
		.key = &run->key,
		.window_ns = (int64_t)run->options.window_ns,
		.skip_ns = (int64_t)run->options.skip_ns,
		.correction = run->correction,
	};
	int err = match_results_finish(&run->stages.results);

	if (err == 0)
		err = frame_stream_error(run->stages.ingress.stream);
	if (err == 0)
		err = frame_stream_error(run->stages.egress.stream);
	return err == 0 ? match_report_write(&report, run->options.out) : err;
}

static void run_close(struct run *run)
{
	frame_stream_close(run->stages.ingress.stream);
	frame_stream_close(run->stages.egress.stream);
	match_results_fini(&run->stages.results);
	match_destroy(run->stages.match);
}

static int run_match(struct run *run)
{
	struct error error = {0};

	if (run_open(run, &error) < 0)
		return program_refuse(&error);
	if (match_stages_run(&run->stages) < 0) {
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
	run->stages.results.packets.fd = -1;
	int err = command_line_parse(&line, argc, argv, &run->options, &n_used, &error);
	int status = err < 0 ? program_refuse(&error) : program_flush();
	if (err == COMMAND_LINE_RUN) {
		status = run_match(run);
		run_close(run);
	}
	free(run);
	return status;
}
