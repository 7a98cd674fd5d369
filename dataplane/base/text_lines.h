#pragma once

// Reads a text file line by line into tokens, each with its column, so that whatever is wrong with
// one can be told as "FILE:LINE:COLUMN: what; remedy". Blanks part tokens; a '#' where a token
// could begin starts a comment. Lines without tokens are passed over. Nothing here allocates.

#include "error.h"

#include <stddef.h>
#include <stdio.h>

enum {
	TEXT_LINE_MAX = 4096, // with its end
	TEXT_TOKENS_MAX = 128,
};

struct text_token {
	const char *text; // valid until the next line is read
	unsigned int column; // of its first byte, from 1
};

struct text_lines {
	FILE *file;
	const char *path; // as it was given: the caller's, for as long as lines are read
	unsigned long number; // of the line read last, from 1
	unsigned int end_column; // one behind its last token: where something is missing
	size_t n; // its tokens
	struct text_token tokens[TEXT_TOKENS_MAX];
	char line[TEXT_LINE_MAX];
};

// Open a file: no pipe, as whoever reads tables does so twice, first to know how much memory they
// take. Returns 0 or -errno with one line in error.
int text_lines_open(struct text_lines *lines, const char *path, struct error *error);

// Read from a stream that is open already, and is closed by text_lines_close; path is its name in
// messages.
void text_lines_read(struct text_lines *lines, FILE *file, const char *path);

// Go to the next line that has a token. Returns 1, at the end of the file 0, or -errno with one
// line in error: what cannot be read, is no text, or is longer than a line may be.
int text_lines_next(struct text_lines *lines, struct error *error);

// Say what is wrong at a column of the current line. Returns -EINVAL.
__attribute__((format(printf, 4, 5))) int text_lines_fail(const struct text_lines *lines,
	unsigned int column, struct error *error, const char *format, ...);

void text_lines_close(struct text_lines *lines);
