// taut-generate: send packets on a schedule, time every one that comes back.

#include "counters.h"
#include "error.h"
#include "generator.h"
#include "log.h"
#include "result_files.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_BAD_INPUT = 2,
	EXIT_INTERRUPTED = 130,
};

static volatile int n_signals; // written by on_signal only

static void on_signal(int number)
{
	n_signals++;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	// A file size limit is then an error of the write, not the end.
	signal(SIGXFSZ, SIG_IGN);
}

static int check_clock(const struct config *config, struct error *error)
{
	struct error why;

	if (clock_is_usable(NULL, NULL, &why))
		return 0;
	if (config->options.accept_unstable_clock) {
		LOG(WARNING, "%s (accepted)", why.text);
		return 0;
	}
	error_set(error, "%s, or --accept-unstable-clock and do not trust the times", why.text);
	return -EINVAL;
}

static int make_out(const char *path, struct error *error)
{
	if (mkdir(path, 0755) == 0 || errno == EEXIST)
		return 0;
	error_set(error, "--out %s: %s; name a folder that can be made", path, strerror(errno));
	return -errno;
}

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
	// Aligned and large: not on the stack.
	struct generator *generator =
		aligned_alloc(_Alignof(struct generator), sizeof(struct generator));
	struct error error = {0};
	int status = EXIT_FAILED;

	if (generator == NULL) {
		LOG(ERROR, "out of memory");
		return EXIT_FAILED;
	}
	int err = generator_open(generator, config, &n_signals, &error);
	if (err == 0) {
		generator_run(generator);
		status = judge(generator, summary_write(generator));
	} else if (err == -EINTR) {
		status = EXIT_INTERRUPTED;
	} else {
		LOG(ERROR, "%s", error.text);
	}
	generator_close(generator);
	free(generator);
	return status;
}

int main(int argc, char **argv)
{
	struct config config;
	struct error error = {0};

	log_start("taut-generate", LOG_LEVEL_INFO);
	int err = config_parse(&config, argc, argv, &error);
	if (err == COMMAND_LINE_DONE)
		return fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
	if (err == 0)
		err = check_clock(&config, &error);
	if (err == 0)
		err = make_out(config.options.out, &error);
	if (err < 0) {
		LOG(ERROR, "%s", error.text);
		return EXIT_BAD_INPUT;
	}
	catch_signals();
	return run(&config);
}
