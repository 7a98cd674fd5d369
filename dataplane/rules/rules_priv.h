#pragma once

// What the reader's files share: words of a line, and what they stand for.

#include "rules.h"
#include "text_lines.h"

enum { WORD_MAX = 128 };

// Punctuation is a word of its own; "" is the end of the line.
struct word {
	char text[WORD_MAX]; // cut where it is longer: nothing that is understood is
	unsigned int column;
};

struct reader {
	struct text_lines lines;
	size_t token; // the next word's, and where in it that begins
	size_t offset;
	struct word word; // the one to be understood now
	struct error *error;
	struct rules *rules;
	char table[WORD_MAX], chain[WORD_MAX]; // "": not added yet
};

// "FILE:LINE:COLUMN: what; remedy" at the word; gives -EINVAL.
#define READER_FAIL(reader, ...)                                                                   \
	text_lines_fail(&(reader)->lines, (reader)->word.column, (reader)->error, __VA_ARGS__)

void reader_next(struct reader *reader);
bool reader_is(const struct reader *reader, const char *text);
// Go on if the word is this one.
bool reader_took(struct reader *reader, const char *text);
// The same, where nothing else may stand: returns 0, or -EINVAL with a line in error.
int reader_expect(struct reader *reader, const char *text);

// What kind of value stands behind the name of a field.
enum value_kind {
	VALUE_ADDRESS4,
	VALUE_ADDRESS6,
	VALUE_PORT,
	VALUE_PROTOCOL,
	VALUE_TYPE4,
	VALUE_TYPE6,
	VALUE_FAMILY,
	VALUE_STATE,
	VALUE_INTERFACE,
	VALUE_TCP_FLAG,
};

// The greatest number of a kind.
unsigned __int128 value_last(enum value_kind kind);

// Read [!=|==] VALUE or { VALUE, ... }, or of states without either VALUE,VALUE, into ranges, which
// are empty before and, on failure, afterwards. Returns 0 or -errno with a line in error.
int value_read(struct reader *reader, enum value_kind kind, struct ranges *out);

// Read FLAG[,FLAG...] into bits. Returns 0 or -EINVAL with a line in error.
int value_read_flags(struct reader *reader, uint8_t *out);

// Read one comparison into the rule. Returns 1, 0 where the word begins none, or -errno with a line
// in error.
int match_read(struct reader *reader, struct rule *rule);

// The same for what begins no comparison either: why it cannot be honoured, and what can.
int match_refuse(struct reader *reader);
