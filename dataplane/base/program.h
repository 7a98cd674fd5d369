#pragma once

// What every program does the same way: its exit statuses, how it is ended, where its results go,
// and whether it may trust the clock.

#include "error.h"
#include "log.h"

#include <signal.h>
#include <stdbool.h>

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_BAD_INPUT = 2, // what the caller can mend: arguments, rights, files
	EXIT_UNMET = 3, // a requirement is not met: nothing is broken, but this is not the program
	EXIT_INTERRUPTED = 130, // ended by a signal before what was asked for was done
};

// Call it first in main. name must outlive the process. From here on, a write beyond the file size
// limit fails with EFBIG, and one to a pipe that nobody reads with EPIPE, instead of ending the
// process: files are still written.
void program_start(const char *name, enum log_level level);

// SIGINT and SIGTERM that came since program_catch_signals. Only their handler writes it.
extern volatile int program_n_signals;

// Count SIGINT and SIGTERM instead of ending. Before, they end the process at once.
void program_catch_signals(void);

// The same, and block both signals: they come only while ppoll or the like waits with wait_mask, so
// that none is missed between reading program_n_signals and waiting.
void program_catch_signals_waiting(sigset_t *wait_mask);

// Make the folder of --out unless it exists. Returns 0, or -errno with one line in error, also when
// path exists and is no folder.
int program_make_out(const char *path, struct error *error);

// Returns 0 when the TSC can be trusted, or when accept_unstable allows one that cannot, with a
// warning. Else -EINVAL with one line in error. cpuinfo_path: NULL, or a copy of /proc/cpuinfo.
int program_check_clock(const char *cpuinfo_path, bool accept_unstable, struct error *error);

// Print the error's line on standard error. Returns EXIT_BAD_INPUT.
enum exit_status program_refuse(const struct error *error);

// Whether a write failed for want of room, which the caller can make.
bool program_has_no_room(int err);

// Say that results could not be written below path, and why. Returns EXIT_BAD_INPUT for want of
// room, else EXIT_FAILED.
enum exit_status program_not_written(const char *path, int err);

// Flush standard output at the end of main. Returns EXIT_DONE if all of it was written; else
// reports that and returns EXIT_FAILED.
enum exit_status program_flush(void);
