// taut-generate: send packets on a schedule, time every one that comes back.

#include "counters.h"
#include "generator.h"
#include "live.h"
#include "program.h"
#include "result_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

// Says what went wrong, the worst first. Returns the exit status.
static int judge(struct generator *generator, int summary_error)
{
	if (generator->write_error != 0) {
		LOG(ERROR, "%s: %s; free space or --record tail", generator->write_error_path,
			strerror(-generator->write_error));
		return EXIT_FAILED;
	}
	if (summary_error != 0) {
		LOG(ERROR, "%s/generator.json: %s", generator->config->options.out,
			strerror(-summary_error));
		return EXIT_FAILED;
	}
	if (generator->n_records_lost > 0) {
		LOG(ERROR,
			"packets.bin: %" PRIu64 " records lost, the disk is too slow; raise "
			"--record-ring or --record tail",
			generator->n_records_lost);
		return EXIT_FAILED;
	}
	return generator->was_interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int run(const struct config *config)
{
	struct live live;
	struct error error = {0};
	int status = EXIT_FAILED;
	struct generator *generator = live_create(&live, config, &error);

	if (generator == NULL) {
		LOG(ERROR, "%s", error.text);
		live_destroy(&live, NULL);
		return EXIT_FAILED;
	}
	int err = generator_open(generator, config, &live, &program_n_signals, &error);
	if (err == 0) {
		generator_run(generator);
		status = judge(generator, summary_write(generator));
		if (config->options.json && program_flush() != EXIT_DONE && status == EXIT_DONE)
			status = EXIT_FAILED;
	} else if (err == -EINTR || program_n_signals > 0) {
		// A driver that waits for its peer says something else of a signal.
		status = EXIT_INTERRUPTED;
	} else {
		LOG(ERROR, "%s", error.text);
		if (err == -EINVAL && !generator->eal_is_up)
			status = EXIT_BAD_INPUT; // EAL options of the user's
	}
	generator_close(generator);
	live_destroy(&live, generator);
	return status;
}

int main(int argc, char **argv)
{
	struct config config;
	struct error error = {0};

	program_start("taut-generate", LOG_LEVEL_INFO);
	int err = config_parse(&config, argc, argv, &error);
	if (err == COMMAND_LINE_DONE || (err == 0 && config.options.check))
		return program_flush();
	if (err == 0)
		err = program_check_clock(NULL, config.options.accept_unstable_clock, &error);
	if (err == 0)
		err = program_make_out(config.options.out, &error);
	if (err < 0)
		return program_refuse(&error);
	program_catch_signals();
	return run(&config);
}
