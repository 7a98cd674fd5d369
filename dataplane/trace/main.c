// taut-trace: what the kernel did on the watched cores, from static tracepoints in trace instances
// of its own, on the clock of all other records. Writes events.bin and trace.json.

#include "collector.h"
#include "command_line.h"
#include "keeper.h"
#include "program.h"
#include "trace_options.h"
#include "trace_report.h"
#include "tracefs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum mode {
	MODE_CONTINUOUS,
	MODE_TAIL,
};

enum clock_choice {
	CLOCK_TSC,
	CLOCK_MONO_RAW,
};

struct trace_options {
	cpu_set_t cores;
	const char *out, *threads, *events;
	const char *follow, *over;
	uint64_t duration_ns, margin_ns, buffer_bytes, memory_bytes, disk_bytes;
	uint32_t mode, clock;
};

#define OPTION(member) .offset = offsetof(struct trace_options, member)

static const char *const modes[] = {"continuous", "tail", NULL};
static const char *const clocks[] = {"x86-tsc", "mono_raw", NULL};

static const struct option_spec options_table[] = {
	{.name = "cores",
		.type = OPTION_CPUS,
		OPTION(cores),
		.default_text = NULL,
		.help = "whose events are recorded, as 0-3,7"},
	{.name = "out",
		.metavar = "DIR",
		.type = OPTION_STRING,
		OPTION(out),
		.default_text = NULL,
		.help = "folder for events.bin and trace.json; made if missing"},
	{.name = "threads",
		.metavar = "TIDS",
		.type = OPTION_STRING,
		OPTION(threads),
		.default_text = "",
		.help = "numbers of threads, as 7,9: their page faults, system calls and wake-ups "
			"are recorded, and their counters read"},
	{.name = "duration",
		.type = OPTION_DURATION,
		OPTION(duration_ns),
		.default_text = "0s",
		.max = UINT64_C(86400000000000),
		.help = "how long; 0s: until SIGTERM or Ctrl-C"},
	{.name = "buffer",
		.type = OPTION_SIZE,
		OPTION(buffer_bytes),
		.default_text = "8MB",
		.min = UINT64_C(8) << 10,
		.max = UINT64_C(4) << 30,
		.help = "of the kernel, for each watched core; it is read when half full"},
	{.name = "mode",
		.type = OPTION_CHOICE,
		OPTION(mode),
		.default_text = "continuous",
		.choices = modes,
		.help = "continuous: all events; tail: those around late packets only"},
	{.name = "follow",
		.metavar = "FILE",
		.type = OPTION_STRING,
		OPTION(follow),
		.default_text = "",
		.help = "tail: packets.bin of the taut-generate that runs or will run; it tells "
			"which packets were late"},
	{.name = "over",
		.metavar = "PERCENTILE|TIME",
		.type = OPTION_STRING,
		OPTION(over),
		.default_text = "p99.8",
		.help = "tail: what late is: above a percentile of all packets so far, or above a "
			"time, as 50us"},
	{.name = "margin",
		.type = OPTION_DURATION,
		OPTION(margin_ns),
		.default_text = "1ms",
		.min = UINT64_C(100000),
		.max = UINT64_C(10000000000),
		.help = "tail: kept before a late packet was sent and after it came"},
	{.name = "memory",
		.type = OPTION_SIZE,
		OPTION(memory_bytes),
		.default_text = "256MB",
		.min = UINT64_C(2) << 20,
		.max = UINT64_C(64) << 30,
		.help = "tail: of events that wait for the packets of their time; beyond it the "
			"oldest are lost"},
	{.name = "disk",
		.type = OPTION_SIZE,
		OPTION(disk_bytes),
		.default_text = "512MB",
		.min = UINT64_C(1) << 20,
		.max = UINT64_C(1) << 40,
		.help = "tail: of events.bin; beyond it nothing more is kept"},
	{.name = "clock",
		.type = OPTION_CHOICE,
		OPTION(clock),
		.default_text = "x86-tsc",
		.choices = clocks,
		.help = "the kernel's stamps; mono_raw is converted, and is taken where x86-tsc is "
			"not to be had"},
	{.name = "events",
		.metavar = "GROUPS",
		.type = OPTION_STRING,
		OPTION(events),
		.default_text = "",
		.help = "groups to record, as irq,timer; -irq,timer: all but these; default: all"},
};

static const char *const examples[] = {
	"--cores 1 --duration 10s --out events",
	NULL,
};

static const struct command_line line = {
	.program = "taut-trace",
	.summary = "record what the kernel does on cores",
	.usage = "--cores CPUS --out DIR [OPTIONS]",
	.examples = examples,
	.version = TAUT_VERSION,
	.options = options_table,
	.n_options = sizeof(options_table) / sizeof(options_table[0]),
};

static int understand_tail(
	const struct trace_options *options, struct trace_config *config, struct error *error)
{
	struct tail_config *tail = &config->tail;
	bool has_file = options->follow[0] != '\0';

	config->is_tail = options->mode == MODE_TAIL;
	if (config->is_tail != has_file) {
		error_set(error, "%s",
			has_file ? "--follow: only --mode tail follows packets; add it"
				 : "--mode tail: needs --follow FILE, the packets.bin of "
				   "taut-generate");
		return -EINVAL;
	}
	config->over = options->over;
	tail->late.path = options->follow;
	tail->late.margin_ns = options->margin_ns;
	tail->memory_bytes = options->memory_bytes;
	tail->disk_bytes = options->disk_bytes;
	return trace_parse_over(options->over, &tail->late, error);
}

static int understand(
	const struct trace_options *options, struct trace_config *config, struct error *error)
{
	int err = trace_check_cores(&options->cores, error);

	if (err == 0)
		err = trace_parse_threads(options->threads, config, error);
	if (err == 0)
		err = event_groups_parse(options->events, &config->groups, error);
	if (err == 0)
		err = understand_tail(options, config, error);
	if (err == 0)
		err = program_make_out(options->out, error);
	config->cores = options->cores;
	config->buffer_bytes = options->buffer_bytes;
	config->duration_ns = options->duration_ns;
	config->wants_mono_raw = options->clock == CLOCK_MONO_RAW;
	config->out = options->out;
	config->stop = &program_n_signals;
	return err;
}

// Say what cannot be seen: one line, the list is in trace.json.
static void say_missing(const struct collector *collector)
{
	size_t n = 0;

	for (size_t i = 0; i < n_event_rows; i++)
		n += collector->rows[i] != ROW_ON && collector->rows[i] != ROW_OFF;
	if (!collector->clock.is_tsc && !collector->config->wants_mono_raw)
		LOG(WARNING, "no trace clock x86-tsc: mono_raw, converted by readings of both");
	if (n > 0)
		LOG(INFO, "%zu kinds of events are missing here; trace.json says what that costs",
			n);
}

// Recorded and written. Returns the exit status.
static int record(const struct trace_config *config)
{
	struct collector collector;
	struct error error = {0};
	int status = EXIT_BAD_INPUT;
	int err = collector_open(&collector, config, &error);

	if (err == 0) {
		status = EXIT_FAILED;
		say_missing(&collector);
		LOG(INFO, "armed");
		err = collector_run(&collector, &error);
		// Without a duration a signal is the end that was meant.
		bool was_interrupted = program_n_signals > 0;
		int report_err = trace_report_write(&collector, was_interrupted);
		if (err == 0 && report_err < 0)
			error_set(&error, "%s/trace.json: %s", config->out,
				strerror(-(err = report_err)));
		if (err == 0)
			status = was_interrupted && config->duration_ns > 0 ? EXIT_INTERRUPTED
									    : EXIT_DONE;
	}
	if (err < 0)
		LOG(ERROR, "%s", error.text);
	err = collector_close(&collector);
	if (err < 0 && status == EXIT_DONE) {
		LOG(ERROR, "%s/events.bin: %s", config->out, strerror(-err));
		status = EXIT_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	struct trace_options options = {0};
	struct trace_config config = {0};
	char root[TRACEFS_PATH_LEN], core[TRACEFS_PATH_LEN], all[TRACEFS_PATH_LEN];
	const char *const instances[] = {core, all};
	struct error error = {0};
	struct keeper *keeper;
	int n_used;

	program_start(line.program, LOG_LEVEL_INFO);
	int err = command_line_parse(&line, argc, argv, &options, &n_used, &error);
	if (err == COMMAND_LINE_DONE)
		return program_flush();
	if (err == 0)
		err = understand(&options, &config, &error);
	if (err == 0)
		err = tracefs_open(root, &error);
	if (err < 0)
		return program_refuse(&error);
	config.root = root;
	tracefs_remove_stale(root);
	(void)tracefs_instance_path(root, getpid(), false, core);
	(void)tracefs_instance_path(root, getpid(), true, all);
	err = keeper_start(&keeper, instances, 2);
	if (err < 0) {
		LOG(ERROR, "cannot start the process that cleans up: %s", strerror(-err));
		return EXIT_FAILED;
	}
	program_catch_signals_waiting(&config.wait_mask);
	config.is_on_watched_core = !trace_move_away(&config.cores);
	if (config.is_on_watched_core)
		LOG(WARNING, "no core but the watched ones to run on: reading disturbs them");
	int status = record(&config);
	keeper_stop(keeper);
	return status;
}
