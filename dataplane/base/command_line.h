#pragma once

// A program's command line from its option table: --name VALUE, --name=VALUE, --flag. What
// follows "--" is left to the caller (EAL options). --help, --version and --describe are the
// same in every program.

#include "error.h"
#include "json_writer.h"
#include "option_spec.h"

#include <stddef.h>

struct command_line {
	const char *program, *summary, *usage; // usage: "--port P0 [--port P1] ..."
	const char *const *examples; // arguments as they are typed, NULL-terminated
	const char *version;
	const struct option_spec *options;
	size_t n_options;
	// Options that words without a name fill in turn, NULL-terminated; NULL: no such words.
	const char *const *positionals;
	void (*describe)(struct json *json); // further members of --describe; NULL: none
};

enum command_line_result {
	COMMAND_LINE_RUN = 0, // options are filled in
	COMMAND_LINE_DONE = 1, // --help, --version or --describe was answered on standard output
	// -EINVAL: error holds one line
};

// n_used: arguments consumed, "--" included; argv[*n_used..argc) are the rest.
int command_line_parse(const struct command_line *line, int argc, char *const *argv, void *options,
	int *n_used, struct error *error);
