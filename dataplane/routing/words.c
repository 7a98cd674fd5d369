#include "words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct text_token *words_next(struct words *words)
{
	return words->at < words->lines->n ? &words->lines->tokens[words->at++] : NULL;
}

const struct text_token *words_value(struct words *words, const char *key, const char *wanted)
{
	const struct text_token *token = words_next(words);

	if (token == NULL)
		text_lines_fail(words->lines, words->lines->end_column, words->error,
			"%s has no value; write %s", key, wanted);
	return token;
}

int words_fail(const struct words *words, const struct text_token *token, const char *wanted)
{
	return text_lines_fail(
		words->lines, token->column, words->error, "%s: %s", token->text, wanted);
}

int words_port(struct words *words, uint16_t *out)
{
	const struct text_token *token = words_value(words, "dev", "the number of a port");
	unsigned int most = words->routing->n_ports - 1U;
	unsigned long number;
	char *end;

	if (token == NULL)
		return -EINVAL;
	number = strtoul(token->text, &end, 10);
	if (strspn(token->text, "0123456789") != strlen(token->text) || number > most)
		return text_lines_fail(words->lines, token->column, words->error,
			"dev %s: no such port; ports are numbers, 0 to %u in the order of --port",
			token->text, most);
	*out = (uint16_t)number;
	return 0;
}

int words_mac(struct words *words, const char *key, uint8_t out[MAC_LEN])
{
	const struct text_token *token = words_value(words, key, "a MAC address");

	if (token == NULL)
		return -EINVAL;
	if (mac_parse(token->text, out) < 0)
		return words_fail(words, token,
			"no MAC address of one station; write it as 02:00:00:00:00:01");
	return 0;
}

int words_skip_value(struct words *words, const char *key)
{
	return words_value(words, key, "one, or take the word away") != NULL ? 0 : -EINVAL;
}
