// taut-clock: whether the TSC of this machine can carry measurements, and how well. Prints one
// JSON document. Run before and after an experiment: the cores of a run share one clock only as
// far as their counters agree.

#include "answer.h"
#include "clock.h"
#include "command_line.h"
#include "cpu_list.h"
#include "json_writer.h"
#include "program.h"
#include "skew.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	READS = 100000,
	SKEW_ROUNDS = 20000,
};

struct clock_options {
	cpu_set_t cores;
	bool answer;
};

static const struct option_spec options_table[] = {
	{
		.name = "cores",
		.type = OPTION_CPUS,
		.offset = offsetof(struct clock_options, cores),
		.default_text = "",
		.help = "compare the counters of these cores with the first's, as 0-3,7; "
			"default: all of the cpuset",
	},
	{
		.name = "answer",
		.type = OPTION_FLAG,
		.offset = offsetof(struct clock_options, answer),
		.default_text = "off",
		.help = "instead, print a reading of both clocks for each line on standard input: "
			"another machine's clock, as a guest's, is compared by it",
	},
};

static const char *const examples[] = {
	"--cores 0-1",
	NULL,
};

static const struct command_line line = {
	.program = "taut-clock",
	.summary = "say whether the time stamp counter can carry measurements, and how well",
	.usage = "[OPTIONS]",
	.examples = examples,
	.version = TAUT_VERSION,
	.options = options_table,
	.n_options = sizeof(options_table) / sizeof(options_table[0]),
};

static double read_cost_ns(double tsc_hz)
{
	uint64_t first = clock_tsc();
	uint64_t last = first;

	for (int i = 0; i < READS; i++)
		last = clock_tsc();
	return (last - first) * 1e9 / tsc_hz / READS;
}

static int print_skews(struct json *json, const cpu_set_t *cores, double tsc_hz)
{
	int first = -1;

	for (int core = 0; core < CPU_SETSIZE; core++) {
		struct skew skew;
		if (!CPU_ISSET(core, cores))
			continue;
		if (first < 0) {
			first = core;
			continue;
		}
		int err = skew_measure(first, core, SKEW_ROUNDS, &skew);
		if (err < 0)
			return err;
		json_object(json, NULL);
		json_array(json, "cores");
		json_i64(json, NULL, first);
		json_i64(json, NULL, core);
		json_end(json);
		json_fixed(json, "skew_ns", skew.skew_ticks * 1e9 / tsc_hz, 1);
		json_fixed(json, "uncertainty_ns", skew.uncertainty_ticks * 1e9 / tsc_hz, 1);
		json_end(json);
	}
	return 0;
}

static int fit_clock(struct clock_fit *fit)
{
	struct clock_point points[2 * CLOCK_POINTS];

	clock_points_take(points, 2 * CLOCK_POINTS, 10 * CLOCK_POINTS_SPREAD_NS);
	return clock_fit(points, 2 * CLOCK_POINTS, fit);
}

static int choose_cores(const cpu_set_t *asked, cpu_set_t *out, struct error *error)
{
	cpu_set_t allowed, both;
	char list[256];
	int err = cpu_list_reachable(&allowed);

	if (err < 0) {
		error_set(error, "cannot read the cores of this process: %s", strerror(-err));
		return err;
	}
	*out = CPU_COUNT(asked) > 0 ? *asked : allowed;
	CPU_AND(&both, out, &allowed);
	if (CPU_EQUAL(&both, out))
		return 0;
	error_set(error,
		"--cores %s: not a list of cores this process may run on; write it as 0-3,7",
		cpu_list_format(out, list, sizeof(list)));
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct clock_options options = {0};
	struct error error;
	int n_used;

	program_start(line.program, LOG_LEVEL_WARNING);
	int err = command_line_parse(&line, argc, argv, &options, &n_used, &error);
	if (err == COMMAND_LINE_DONE)
		return program_flush();
	if (err == 0 && options.answer)
		return answer_questions() < 0 ? EXIT_FAILED : program_flush();
	cpu_set_t cores;
	if (err == 0)
		err = choose_cores(&options.cores, &cores, &error);
	if (err < 0)
		return program_refuse(&error);
	struct clock_flags flags;
	struct clock_fit fit;
	bool usable = clock_is_usable(NULL, &flags, &error);
	err = fit_clock(&fit);
	if (err < 0) {
		LOG(ERROR, "the time stamp counter does not advance with CLOCK_MONOTONIC_RAW");
		return EXIT_FAILED;
	}
	struct json json = {.out = stdout};
	json_object(&json, NULL);
	json_bool(&json, "usable", usable);
	json_text(&json, "why", usable ? NULL : error.text);
	json_bool(&json, "constant_tsc", flags.constant_tsc);
	json_bool(&json, "nonstop_tsc", flags.nonstop_tsc);
	json_fixed(&json, "tsc_hz", fit.tsc_hz, 3);
	json_fixed(&json, "residual_ns", fit.residual_ns, 3);
	json_fixed(&json, "read_cost_ns", read_cost_ns(fit.tsc_hz), 2);
	json_array(&json, "skew");
	err = print_skews(&json, &cores, fit.tsc_hz);
	json_end(&json);
	json_end(&json);
	(void)json_done(&json);
	if (err < 0) {
		LOG(ERROR, "cannot compare the counters of two cores: error %d", -err);
		return EXIT_FAILED;
	}
	return program_flush();
}
