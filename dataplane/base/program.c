#include "program.h"

#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Left for the names of files in it, so that no path is cut off.
enum { NAME_ROOM = 64 };

volatile int program_n_signals;

static void count(int number)
{
	program_n_signals++;
}

void program_start(const char *name, enum log_level level)
{
	log_start(name, level);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

void program_catch_signals(void)
{
	const struct sigaction action = {.sa_handler = count};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void program_catch_signals_waiting(sigset_t *wait_mask)
{
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	sigprocmask(SIG_BLOCK, &both, wait_mask);
	sigdelset(wait_mask, SIGINT);
	sigdelset(wait_mask, SIGTERM);
	program_catch_signals();
}

int program_make_out(const char *path, struct error *error)
{
	struct stat status;
	int err = 0;

	if (strlen(path) > PATH_MAX - NAME_ROOM)
		err = ENAMETOOLONG;
	else if (mkdir(path, 0755) < 0)
		err = errno;
	if (err == 0 || (err == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
		return 0;
	error_set(error, "--out %s: %s; name a folder that can be made", path, strerror(err));
	return -err;
}

int program_check_clock(const char *cpuinfo_path, bool accept_unstable, struct error *error)
{
	if (clock_is_usable(cpuinfo_path, NULL, error))
		return 0;
	if (accept_unstable) {
		LOG(WARNING, "%s (accepted)", error->text);
		return 0;
	}
	error_append(error, ", or --accept-unstable-clock and do not trust the times");
	return -EINVAL;
}

enum exit_status program_refuse(const struct error *error)
{
	LOG(ERROR, "%s", error->text);
	return EXIT_BAD_INPUT;
}

bool program_has_no_room(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

enum exit_status program_not_written(const char *path, int err)
{
	bool is_full = program_has_no_room(err);

	LOG(ERROR, "%s: results not written: %s%s", path, strerror(-err),
		is_full ? "; make room, or name another place" : "");
	return is_full ? EXIT_BAD_INPUT : EXIT_FAILED;
}

enum exit_status program_flush(void)
{
	bool is_flushed = fflush(stdout) == 0;

	if (is_flushed && !ferror(stdout))
		return EXIT_DONE;
	// What failed before has left no errno.
	LOG(ERROR, "standard output: %s",
		is_flushed ? "not all of it was written" : strerror(errno));
	return EXIT_FAILED;
}
