// taut-inject: disturb a core on purpose, by one cause and at a known rate, and note what was sent
// on the clock of all measurements: the ground truth that taut explain is tested with. The victim
// polls in this program, unless --victim names another.

#include "cause_table.h"
#include "command_line.h"
#include "cores.h"
#include "inject_report.h"
#include "injector.h"
#include "program.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { PATH_LEN = 4096 };

struct inject_options {
	const char *cause, *rate, *out;
	int core;
	uint64_t duration_ns, threshold_ns, victim, seed, records;
	bool json, wait, accept_unstable_clock;
};

#define OPTION(member) .offset = offsetof(struct inject_options, member)

static const struct option_spec options_table[] = {
	{.name = "cause",
		.metavar = "CAUSE",
		.type = OPTION_STRING,
		OPTION(cause),
		.help = "what to do, with its options; list names them all"},
	{.name = "core",
		.type = OPTION_CORE,
		OPTION(core),
		.default_text = "",
		.help = "the victim's; default: of a cause that acts on a core the last that "
			"the main thread of --victim may use; else the last isolated one, else "
			"the last allowed"},
	{.name = "rate",
		.metavar = "N/s",
		.type = OPTION_STRING,
		OPTION(rate),
		.default_text = "100/s",
		.help = "acts a second; each moved at random by up to a quarter of the period"},
	{.name = "duration",
		.type = OPTION_DURATION,
		OPTION(duration_ns),
		.default_text = "10s",
		.min = 1000000,
		.max = UINT64_C(86400000000000),
		.help = "how long; Ctrl-C ends it early with what was injected"},
	{.name = "out",
		.metavar = "DIR",
		.type = OPTION_STRING,
		OPTION(out),
		.default_text = "",
		.help = "folder for inject.json, injections.bin and gaps.bin; made if missing"},
	{.name = "victim",
		.metavar = "PID",
		.type = OPTION_UINT,
		OPTION(victim),
		.default_text = "0",
		.max = 1 << 22,
		.help = "PID of the process to disturb; 0: a poller of its own"},
	{.name = "json",
		.type = OPTION_FLAG,
		OPTION(json),
		.default_text = "off",
		.help = "print inject.json instead of one line"},
	{.name = "wait",
		.type = OPTION_FLAG,
		OPTION(wait),
		.default_text = "off",
		.help = "make ready, and begin at SIGUSR1; the duration counts from there"},
	{.name = "threshold",
		.type = OPTION_DURATION,
		OPTION(threshold_ns),
		.default_text = "1us",
		.min = 100,
		.max = UINT64_C(60000000000),
		.help = "a longer time between two readings of the clock is a gap of the poller's"},
	{.name = "seed",
		.type = OPTION_UINT,
		OPTION(seed),
		.default_text = "1",
		.help = "of the times of the acts"},
	{.name = "records",
		.type = OPTION_UINT,
		OPTION(records),
		.default_text = "262144",
		.min = 1,
		.max = UINT64_C(1) << 28,
		.help = "gaps kept, 24 bytes each; more are counted only"},
	{.name = "accept-unstable-clock",
		.type = OPTION_FLAG,
		OPTION(accept_unstable_clock),
		.default_text = "off",
		.help = "inject though the time stamp counter is not constant"},
};

static const char *const positionals[] = {"cause", NULL};

static void describe_causes(struct json *json)
{
	json_array(json, "causes");
	for (size_t i = 0; i < cause_table_size; i++) {
		const struct cause_ops *ops = cause_table[i];
		json_object(json, NULL);
		json_text(json, "name", ops->name);
		json_u64(json, "number", i);
		json_text(json, "summary", ops->summary);
		json_text(json, "arg", ops->arg);
		json_bool(json, "needs_victim", ops->victim == CAUSE_NEEDS_VICTIM);
		json_bool(json, "takes_victim", ops->takes_other);
		option_describe(json, ops->options, ops->n_options);
		json_end(json);
	}
	json_end(json);
}

// For people.
static void list_causes(FILE *out)
{
	for (size_t i = 0; i < cause_table_size; i++) {
		const struct cause_ops *ops = cause_table[i];
		fprintf(out, "  %-16s %s\n", ops->name, ops->summary);
		for (size_t j = 0; j < ops->n_options; j++)
			fprintf(out, "  %-16s   %s=%s: %s\n", "", ops->options[j].name,
				ops->options[j].default_text, ops->options[j].help);
	}
}

static const char *const examples[] = {
	"list",
	"tlb-shootdown --core 1 --rate 100/s --duration 10s",
	NULL,
};

static const struct command_line line = {
	.program = "taut-inject",
	.summary = "disturb a core on purpose and note what was sent",
	.usage = "CAUSE[:key=value,...] [OPTIONS]",
	.examples = examples,
	.version = TAUT_VERSION,
	.options = options_table,
	.n_options = sizeof(options_table) / sizeof(options_table[0]),
	.positionals = positionals,
	.describe = describe_causes,
};

static volatile int has_begun; // written by on_begin only

static void on_begin(int number)
{
	has_begun = 1;
}

static void catch_signals(void)
{
	const struct sigaction begin = {.sa_handler = on_begin};

	sigaction(SIGUSR1, &begin, NULL);
	program_catch_signals();
}

static int unknown_cause(const char *name, size_t name_len, struct error *error)
{
	if (strncmp(name, "packet-burst", name_len) == 0 && name_len > 0) {
		error_set(error, "packet-burst: bursts are a schedule of the generator: "
				 "taut generate --schedule burst:...");
		return -EINVAL;
	}
	error_set(error, "%.*s: no such cause; known:", (int)name_len, name);
	for (size_t i = 0; i < cause_table_size; i++)
		error_append(error, " %s", cause_table[i]->name);
	return -EINVAL;
}

static int choose_cause(const char *text, struct injector_config *config, struct error *error)
{
	size_t name_len = strcspn(text, ":");
	int number = cause_find(text, name_len);

	if (number < 0)
		return unknown_cause(text, name_len, error);
	config->cause = (uint32_t)number;
	config->cause_options = text[name_len] == ':' ? text + name_len + 1 : NULL;
	return 0;
}

static bool acts_by_core(const struct cause_ops *ops)
{
	return ops->place == CAUSE_ON_CORE || ops->sends_ipi;
}

// Whoever names a core besides a victim is believed: what is meant may be the kernel's work there.
static int choose_core(int asked, struct injector_config *config, struct error *error)
{
	cpu_set_t only, cores;

	CPU_ZERO(&only);
	if (asked >= 0)
		CPU_SET((size_t)asked, &only);
	else if (config->victim > 0 && acts_by_core(cause_table[config->cause]))
		(void)sched_getaffinity(config->victim, sizeof(only), &only);
	if (cores_choose(&only, NULL, &cores, error) < 0) {
		if (asked < 0 && config->victim > 0) {
			error_prefix(error, "--victim %d", (int)config->victim);
			error_append(error, "; give --core");
		} else {
			error_prefix(error, "--core");
		}
		return -EINVAL;
	}
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &cores))
			config->core = (int)i;
	return 0;
}

static int check_victim(const struct injector_config *config, struct error *error)
{
	const struct cause_ops *ops = cause_table[config->cause];

	if (config->victim == 0) {
		if (ops->victim != CAUSE_NEEDS_VICTIM)
			return 0;
		error_set(error, "%s: no --victim; name the process to disturb", ops->name);
		return -EINVAL;
	}
	if (!ops->takes_other) {
		error_set(error, "--victim %d: %s disturbs only its own poller; leave --victim out",
			config->victim, ops->name);
		return -EINVAL;
	}
	if (kill(config->victim, 0) < 0) {
		error_set(error, "--victim %d: %s; name a process that runs", config->victim,
			strerror(errno));
		return -EINVAL;
	}
	return 0;
}

// Injected and written. Returns the exit status.
static int inject(const struct injector_config *config, const struct inject_options *options)
{
	struct injector injector;
	struct error error = {0};
	int status = EXIT_BAD_INPUT;
	int err = injector_open(&injector, config, &error);

	if (err == 0) {
		err = injector_run(&injector, &error);
		status = err == -EPERM ? EXIT_BAD_INPUT : EXIT_FAILED;
	}
	if (err < 0)
		LOG(ERROR, "%s", error.text);
	if (injector.start_tsc != 0) {
		bool was_interrupted = program_n_signals > 0;
		if (injector.victim_ended)
			LOG(WARNING, "--victim %d: has ended", (int)config->victim);
		if (options->json)
			inject_report_print(stdout, &injector, was_interrupted);
		else
			inject_report_say(stdout, &injector);
		int written = *options->out == '\0' ? 0
						    : inject_report_write(&injector, options->out,
							      was_interrupted);
		if (written < 0)
			status = program_not_written(options->out, written);
		else if (program_flush() == EXIT_DONE && err == 0)
			status = was_interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
	}
	if (injector_close(&injector, &error) < 0) {
		LOG(ERROR, "%s", error.text);
		status = EXIT_FAILED;
	}
	return status;
}

static int configure(
	const struct inject_options *options, struct injector_config *config, struct error *error)
{
	int err = program_check_clock(NULL, options->accept_unstable_clock, error);

	config->duration_ns = options->duration_ns;
	config->threshold_ns = options->threshold_ns;
	config->seed = options->seed;
	config->capacity = options->records;
	config->victim = (pid_t)options->victim;
	if (err == 0)
		err = choose_cause(options->cause, config, error);
	if (err == 0)
		err = act_rate_parse(options->rate, &config->rate, error);
	if (err == 0)
		err = check_victim(config, error);
	if (err == 0)
		err = choose_core(options->core, config, error);
	if (err == 0 && *options->out != '\0')
		err = program_make_out(options->out, error);
	return err;
}

int main(int argc, char **argv)
{
	struct inject_options options = {0};
	struct injector_config config = {.stop = &program_n_signals};
	struct error error;
	char gaps_path[PATH_LEN] = "";
	int n_used;

	program_start(line.program, LOG_LEVEL_WARNING);
	int err = command_line_parse(&line, argc, argv, &options, &n_used, &error);
	if (err == COMMAND_LINE_DONE)
		return program_flush();
	if (err == 0 && strcmp(options.cause, "list") == 0) {
		list_causes(stdout);
		return program_flush();
	}
	if (err == 0)
		err = configure(&options, &config, &error);
	if (err < 0)
		return program_refuse(&error);
	if (*options.out != '\0')
		snprintf(gaps_path, sizeof(gaps_path), "%s/gaps.bin", options.out);
	config.gaps_path = gaps_path;
	config.begin = options.wait ? &has_begun : NULL;
	catch_signals();
	return inject(&config, &options);
}
