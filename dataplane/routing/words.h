#pragma once

// The words of one line, read one after the other: what routes, neighbours and addresses have in
// common. Whatever is wrong is told with its file, line and column.

#include "routing.h"
#include "text_lines.h"

struct words {
	const struct text_lines *lines; // at the line that is read
	const struct routing *routing;
	struct error *error;
	size_t at; // the next word
};

// NULL: the line has no more.
const struct text_token *words_next(struct words *words);

// The value of a key. NULL with one line in error where the line ends before it.
const struct text_token *words_value(struct words *words, const char *key, const char *wanted);

// Say what is wrong with a word. Returns -EINVAL.
int words_fail(const struct words *words, const struct text_token *token, const char *wanted);

// The values of dev and of what a MAC address stands behind. Return 0 or -EINVAL, as below.
int words_port(struct words *words, uint16_t *out);
int words_mac(struct words *words, const char *key, uint8_t out[MAC_LEN]);

// Pass over the value of a key that changes nothing, as who made a route.
int words_skip_value(struct words *words, const char *key);
