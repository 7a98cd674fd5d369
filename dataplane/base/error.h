#pragma once

// Why something failed, in one line for a person: the thing and the remedy. A function that fails
// with a reason takes a struct error as its last parameter, fills it and returns -errno. If it
// succeeds the struct may hold anything. Longer lines are cut. Nothing allocates.

#include <stdarg.h>

enum { ERROR_TEXT_MAX = 1024 }; // with its NUL; log.c writes no longer lines

struct error {
	char text[ERROR_TEXT_MAX];
};

// Replace the text. The arguments may not point into error itself.
__attribute__((format(printf, 2, 3))) void error_set(struct error *error, const char *format, ...);

// As error_set, for functions that themselves take a format and arguments.
__attribute__((format(printf, 2, 0))) void error_vset(
	struct error *error, const char *format, va_list args);

// Add at the end: the next name of a list of what is accepted.
__attribute__((format(printf, 2, 3))) void error_append(
	struct error *error, const char *format, ...);

// Put something before the text, with ": " between: what the caller was doing when it failed.
__attribute__((format(printf, 2, 3))) void error_prefix(
	struct error *error, const char *format, ...);
