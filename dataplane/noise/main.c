// taut-noise: what a core that only polls is kept from. One thread a core reads the clock and
// notes each gap: time stolen by the kernel, the hypervisor or the firmware. Prints one JSON
// document; --out keeps gaps and histograms as well.

#include "clock.h"
#include "command_line.h"
#include "cores.h"
#include "noise.h"
#include "program.h"
#include "report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

struct noise_options {
	cpu_set_t cores;
	const char *out;
	uint64_t duration_ns, threshold_ns, priority, records;
	bool accept_unstable_clock;
};

#define OPTION(member) .offset = offsetof(struct noise_options, member)

static const struct option_spec options_table[] = {
	{.name = "cores",
		.type = OPTION_CPUS,
		OPTION(cores),
		.default_text = "",
		.help = "to poll on, as 0-3,7; default: the isolated ones, else all of the cpuset "
			"but the first"},
	{.name = "duration",
		.type = OPTION_DURATION,
		OPTION(duration_ns),
		.default_text = "10s",
		.min = 1000000,
		.max = UINT64_C(86400000000000),
		.help = "how long; Ctrl-C ends it early with what was measured"},
	{.name = "threshold",
		.type = OPTION_DURATION,
		OPTION(threshold_ns),
		.default_text = "1us",
		.min = 100,
		.max = UINT64_C(60000000000),
		.help = "a longer time between two readings of the clock is a gap: logged, and "
			"stolen time"},
	{.name = "out",
		.metavar = "DIR",
		.type = OPTION_STRING,
		OPTION(out),
		.default_text = "",
		.help = "folder for noise.json, gaps_N.bin and histogram_N.bin of each core N; "
			"made if missing"},
	{.name = "priority",
		.type = OPTION_UINT,
		OPTION(priority),
		.default_text = "0",
		.max = 99,
		.help = "poll as SCHED_FIFO with this priority; 0: as the caller"},
	{.name = "records",
		.type = OPTION_UINT,
		OPTION(records),
		.default_text = "262144",
		.min = 1,
		.max = UINT64_C(1) << 28,
		.help = "gaps kept of each core, 24 bytes each; more are counted only"},
	{.name = "accept-unstable-clock",
		.type = OPTION_FLAG,
		OPTION(accept_unstable_clock),
		.default_text = "off",
		.help = "measure though the time stamp counter is not constant"},
};

static const char *const examples[] = {
	"--cores 1 --duration 5s",
	NULL,
};

static const struct command_line line = {
	.program = "taut-noise",
	.summary = "poll on cores and measure what keeps them from it",
	.usage = "[OPTIONS]",
	.examples = examples,
	.version = TAUT_VERSION,
	.options = options_table,
	.n_options = sizeof(options_table) / sizeof(options_table[0]),
};

static int choose_cores(const cpu_set_t *asked, cpu_set_t *out, struct error *error)
{
	int err = cores_choose(asked, NULL, out, error);

	if (err < 0)
		error_prefix(error, "--cores");
	return err;
}

// Measured and written. Returns the exit status.
static int measure(const struct noise_config *config, const char *out)
{
	struct noise noise;
	struct error error = {0};
	int status = EXIT_FAILED;
	int err = noise_open(&noise, config, &error);

	if (err == 0)
		err = noise_run(&noise, &error);
	if (err < 0) {
		LOG(ERROR, "%s", error.text);
		status = err == -EPERM ? EXIT_BAD_INPUT : EXIT_FAILED;
	} else {
		bool was_interrupted = program_n_signals > 0;
		report_print(stdout, &noise, was_interrupted);
		err = *out == '\0' ? 0 : report_write(&noise, out, was_interrupted);
		if (err < 0)
			status = program_not_written(out, err);
		else if (program_flush() == EXIT_DONE)
			status = was_interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
	}
	noise_close(&noise);
	return status;
}

int main(int argc, char **argv)
{
	struct noise_options options = {0};
	struct noise_config config = {.stop = &program_n_signals};
	struct error error = {0};
	int n_used;

	program_start(line.program, LOG_LEVEL_WARNING);
	int err = command_line_parse(&line, argc, argv, &options, &n_used, &error);
	if (err == COMMAND_LINE_DONE)
		return program_flush();
	if (err == 0)
		err = program_check_clock(NULL, options.accept_unstable_clock, &error);
	if (err == 0)
		err = choose_cores(&options.cores, &config.cores, &error);
	if (err == 0 && *options.out != '\0')
		err = program_make_out(options.out, &error);
	if (err < 0)
		return program_refuse(&error);
	config.duration_ns = options.duration_ns;
	config.threshold_ns = options.threshold_ns;
	config.capacity = options.records;
	config.priority = (int)options.priority;
	program_catch_signals();
	return measure(&config, options.out);
}
