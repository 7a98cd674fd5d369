#include "rules_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char punctuation[] = "{}();,!=<>&|\"";

// The next word: what stands between blanks and punctuation, or in quotes.
void reader_next(struct reader *reader)
{
	const struct text_lines *lines = &reader->lines;
	struct word *word = &reader->word;

	while (reader->token < lines->n &&
		lines->tokens[reader->token].text[reader->offset] == '\0') {
		reader->token++;
		reader->offset = 0;
	}
	if (reader->token >= lines->n) {
		*word = (struct word){.column = lines->end_column};
		return;
	}
	const struct text_token *token = &lines->tokens[reader->token];
	const char *from = token->text + reader->offset;
	size_t len = strcspn(from, punctuation);
	if (*from == '"') { // without blanks: a comment's are joined by its reader
		const char *end = strchr(from + 1, '"');
		len = end != NULL ? (size_t)(end - from) + 1 : strlen(from);
	} else if (len == 0) {
		len = (*from == '!' || *from == '=') && from[1] == '=' ? 2 : 1;
	}
	snprintf(word->text, sizeof(word->text), "%.*s", (int)len, from);
	word->column = token->column + (unsigned int)reader->offset;
	reader->offset += len;
}

bool reader_is(const struct reader *reader, const char *text)
{
	return strcmp(reader->word.text, text) == 0;
}

bool reader_took(struct reader *reader, const char *text)
{
	if (!reader_is(reader, text))
		return false;
	reader_next(reader);
	return true;
}

int reader_expect(struct reader *reader, const char *text)
{
	if (reader_took(reader, text))
		return 0;
	return READER_FAIL(reader, "%s: %s wanted",
		*reader->word.text != '\0' ? reader->word.text : "the end of the line", text);
}

static int expect_all(struct reader *reader, const char *const *texts)
{
	int err = 0;

	for (; err == 0 && *texts != NULL; texts++)
		err = reader_expect(reader, *texts);
	return err;
}

static int expect_end(struct reader *reader)
{
	if (*reader->word.text == '\0')
		return 0;
	return READER_FAIL(reader, "%s: the end of the line wanted", reader->word.text);
}

// inet and a table's name: the first there is, or that one.
static int read_table_name(struct reader *reader, bool is_new)
{
	if (reader_is(reader, "ip") || reader_is(reader, "ip6") || reader_is(reader, "bridge"))
		return READER_FAIL(reader, "%s: tables are of family inet here; write inet",
			reader->word.text);
	int err = reader_expect(reader, "inet");
	if (err < 0)
		return err;
	if (*reader->word.text == '\0' || strchr(punctuation, *reader->word.text) != NULL)
		return READER_FAIL(reader, "a table's name wanted");
	if (is_new && *reader->table != '\0' && !reader_is(reader, reader->table))
		return READER_FAIL(reader, "%s: a second table; there is one, %s",
			reader->word.text, reader->table);
	if (!is_new && !reader_is(reader, reader->table))
		return READER_FAIL(reader, "%s: no such table; write `add table inet %s` before",
			reader->word.text, reader->word.text);
	snprintf(reader->table, sizeof(reader->table), "%s", reader->word.text);
	reader_next(reader);
	return 0;
}

static int read_table(struct reader *reader)
{
	int err = read_table_name(reader, true);

	return err < 0 ? err : expect_end(reader);
}

static int read_priority(struct reader *reader)
{
	const char *text = reader->word.text + (*reader->word.text == '-');

	if (strcmp(text, "filter") != 0 &&
		(*text == '\0' || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text)))
		return READER_FAIL(
			reader, "%s: a priority wanted: filter, or a number", reader->word.text);
	reader_next(reader);
	return reader_expect(reader, ";");
}

static int read_policy(struct reader *reader)
{
	if (!reader_took(reader, "policy"))
		return 0;
	reader->rules->accepts = reader_is(reader, "accept");
	if (!reader_is(reader, "accept") && !reader_is(reader, "drop"))
		return READER_FAIL(
			reader, "%s: a policy wanted: accept or drop", reader->word.text);
	reader_next(reader);
	return reader_expect(reader, ";");
}

// NAME { type filter hook forward priority 0; policy drop; }
static int read_chain(struct reader *reader)
{
	static const char *const head[] = {
		"{", "type", "filter", "hook", "forward", "priority", NULL};
	int err = read_table_name(reader, false);

	if (err < 0)
		return err;
	if (*reader->chain != '\0')
		return READER_FAIL(reader,
			"%s: a second chain; there is one, %s: write its rules there",
			reader->word.text, reader->chain);
	if (*reader->word.text == '\0' || strchr(punctuation, *reader->word.text) != NULL)
		return READER_FAIL(reader, "a chain's name wanted");
	snprintf(reader->chain, sizeof(reader->chain), "%s", reader->word.text);
	reader_next(reader);
	err = expect_all(reader, head);
	if (err == 0)
		err = read_priority(reader);
	if (err == 0)
		err = read_policy(reader);
	if (err == 0)
		err = reader_expect(reader, "}");
	return err < 0 ? err : expect_end(reader);
}

// comment "several words", the last of the line: nothing is made of it.
static int read_comment(struct reader *reader)
{
	const struct text_lines *lines = &reader->lines;
	size_t n_quotes = 0, len;
	bool is_closed = false;

	for (size_t i = reader->token; i < lines->n; i++) {
		const char *text = lines->tokens[i].text;
		for (len = 0; text[len] != '\0'; len++)
			n_quotes += text[len] == '"';
		is_closed = text[len - 1] == '"';
	}
	if (*reader->word.text != '"' || n_quotes != 2 || !is_closed)
		return READER_FAIL(reader, "a comment in quotes wanted, as the last of the line");
	reader->token = lines->n;
	reader_next(reader);
	return 0;
}

// counter, the verdict and the comment: what follows the comparisons.
static int read_verdict(struct reader *reader, struct rule *rule)
{
	if (reader_took(reader, "counter") && reader_is(reader, "packets"))
		return READER_FAIL(reader, "counters begin with 0; write counter alone");
	rule->accepts = reader_is(reader, "accept");
	if (!reader_is(reader, "accept") && !reader_is(reader, "drop"))
		return match_refuse(reader);
	reader_next(reader);
	int err = reader_took(reader, "comment") ? read_comment(reader) : 0;
	return err < 0 ? err : expect_end(reader);
}

// th is what nftables compares of any protocol; here it has to be one with ports.
static int check_ports(struct reader *reader, const struct rule *rule)
{
	const struct ranges *protocols = &rule->fields[RULE_PROTOCOL];
	bool is_either = protocols->n > 0;

	if (rule->fields[RULE_SPORT].n == 0 && rule->fields[RULE_DPORT].n == 0)
		return 0;
	for (size_t i = 0; i < protocols->n; i++)
		is_either &= protocols->items[i].first == protocols->items[i].last &&
			     (protocols->items[i].first == 6 || protocols->items[i].first == 17);
	return is_either ? 0
			 : READER_FAIL(reader, "ports of any protocol; write "
					       "`meta l4proto { tcp, udp }` before");
}

static int read_comparisons(struct reader *reader, struct rule *rule)
{
	int result;

	do
		result = match_read(reader, rule);
	while (result > 0);
	return result < 0 ? result : check_ports(reader, rule);
}

static int room_for_a_rule(struct reader *reader)
{
	struct rules *rules = reader->rules;

	if (rules->n == RULES_MAX)
		return READER_FAIL(
			reader, "%d rules are the most; join some by sets { ... }", RULES_MAX);
	if ((rules->n & (rules->n - 1)) == 0) {
		size_t room = rules->n == 0 ? 1 : 2 * rules->n;
		struct rule *items = realloc(rules->items, room * sizeof(*items));
		if (items == NULL)
			return READER_FAIL(reader, "no memory for %zu rules", room);
		rules->items = items;
	}
	return 0;
}

static int read_rule(struct reader *reader)
{
	struct rules *rules = reader->rules;
	int err = read_table_name(reader, false);

	if (err < 0)
		return err;
	if (!reader_is(reader, reader->chain) || *reader->chain == '\0')
		return READER_FAIL(reader,
			"%s: no such chain; write `add chain inet %s %s { type filter hook forward "
			"priority 0; }` before",
			reader->word.text, reader->table,
			*reader->word.text != '\0' ? reader->word.text : "NAME");
	reader_next(reader);
	err = room_for_a_rule(reader);
	if (err < 0)
		return err;
	// Counted from here on: who clears the rules finds what it has.
	struct rule *rule = &rules->items[rules->n++];
	*rule = (struct rule){.line = reader->lines.number};
	err = read_comparisons(reader, rule);
	if (err == 0)
		err = read_verdict(reader, rule);
	rules->has_state |= rule->fields[RULE_STATE].n > 0;
	rules->has_tcp_flags |= rule->tcp_flags_mask != 0;
	return err;
}

static int read_line(struct reader *reader)
{
	reader->token = reader->offset = 0;
	reader_next(reader);
	if (!reader_took(reader, "add"))
		return READER_FAIL(reader,
			"%s: a line is `add table`, `add chain` or `add rule`; write it so",
			reader->word.text);
	if (reader_took(reader, "table"))
		return read_table(reader);
	if (reader_took(reader, "chain"))
		return read_chain(reader);
	if (reader_took(reader, "rule"))
		return read_rule(reader);
	return READER_FAIL(reader, "add %s: cannot be honoured; add table, chain or rule",
		*reader->word.text != '\0' ? reader->word.text : "nothing");
}

static int read_all(struct reader *reader)
{
	int result = text_lines_next(&reader->lines, reader->error);

	while (result > 0) {
		int err = read_line(reader);
		if (err < 0)
			return err;
		result = text_lines_next(&reader->lines, reader->error);
	}
	return result;
}

static int read_and_close(struct reader *reader)
{
	*reader->rules = (struct rules){.accepts = true}; // as nftables without a policy
	int err = read_all(reader);

	text_lines_close(&reader->lines);
	if (err < 0)
		rules_clear(reader->rules);
	return err;
}

int rules_read(FILE *file, const char *path, struct rules *out, struct error *error)
{
	struct reader reader = {.rules = out, .error = error};

	text_lines_read(&reader.lines, file, path);
	return read_and_close(&reader);
}

int rules_load(const char *path, struct rules *out, struct error *error)
{
	struct reader reader = {.rules = out, .error = error};
	int err = text_lines_open(&reader.lines, path, error);

	*out = (struct rules){0};
	return err < 0 ? err : read_and_close(&reader);
}

void rules_clear(struct rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		for (size_t field = 0; field < RULE_N_FIELDS; field++)
			ranges_clear(&rules->items[i].fields[field]);
	free(rules->items);
	*rules = (struct rules){0};
}
