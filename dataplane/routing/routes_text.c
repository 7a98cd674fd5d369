// The lines of the file of routes. What a line says that the router could not do is refused.

#include "routing_priv.h"
#include "words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_number(struct words *words, const char *key, uint32_t most, uint32_t *out)
{
	const struct text_token *token = words_value(words, key, "a number");
	char *end;

	if (token == NULL)
		return -EINVAL;
	unsigned long long number = strtoull(token->text, &end, 10);
	if (strspn(token->text, "0123456789") != strlen(token->text) || *end != '\0' ||
		strlen(token->text) > 10 || number > most)
		return text_lines_fail(words->lines, token->column, words->error,
			"%s: a number from 0 to %u is wanted", token->text, most);
	*out = (uint32_t)number;
	return 0;
}

static int read_address(struct words *words, const char *key, bool is_v6, struct address *out)
{
	const struct text_token *token = words_value(words, key, "an address");

	if (token != NULL && strcmp(token->text, is_v6 ? "inet6" : "inet") == 0)
		token = words_value(words, key, "an address");
	if (token == NULL)
		return -EINVAL;
	if (address_parse(token->text, out) < 0)
		return words_fail(
			words, token, "no address; write one as 192.0.2.1 or 2001:db8::1");
	if (out->is_v6 != is_v6)
		return words_fail(words, token,
			is_v6 ? "the route is IPv6; an IPv6 address is wanted"
			      : "the route is IPv4; an IPv4 address is wanted");
	return 0;
}

// What the kernel makes of an IPv6 route's metric that is 0 or not given (IP6_RT_PRIO_USER).
static const uint32_t default_metric6 = 1024;

// These change nothing as long as they have the one value.
static int expect(struct words *words, const char *key, const char *only)
{
	const struct text_token *token = words_value(words, key, only);

	if (token == NULL)
		return -EINVAL;
	if (strcmp(token->text, only) == 0)
		return 0;
	return text_lines_fail(words->lines, token->column, words->error,
		"%s %s: cannot be honoured; %s %s can", key, token->text, key, only);
}

static int read_route_word(struct words *words, const struct text_token *word, struct route *route)
{
	const char *key = word->text;

	if (strcmp(key, "via") == 0) {
		route->has_via = true;
		route->via_column = (uint16_t)word->column;
		return read_address(words, key, route->prefix.address.is_v6, &route->via);
	}
	if (strcmp(key, "src") == 0) {
		route->has_source = true;
		return read_address(words, key, route->prefix.address.is_v6, &route->source);
	}
	// `ip -6 route` names a device of routes that lead nowhere, too: lo.
	if (strcmp(key, "dev") == 0)
		return route->kind == ROUTE_FORWARD ? words_port(words, &route->port)
						    : words_skip_value(words, key);
	if (strcmp(key, "metric") == 0)
		return read_number(words, key, UINT32_MAX, &route->metric);
	if (strcmp(key, "proto") == 0 || strcmp(key, "scope") == 0)
		return words_skip_value(words, key);
	if (strcmp(key, "table") == 0)
		return expect(words, key, "main");
	if (strcmp(key, "pref") == 0)
		return expect(words, key, "medium");
	if (strcmp(key, "onlink") == 0)
		return 0;
	return words_fail(words, word,
		"cannot be honoured; accepted are via, dev, src, metric, proto, scope, onlink, "
		"table main, pref medium");
}

// A kind of route before the prefix. Returns the kind, or -1: the word is none.
static int kind_of(const char *word)
{
	static const struct {
		const char *word;
		enum route_kind kind;
	} kinds[] = {
		{"unicast", ROUTE_FORWARD},
		{"blackhole", ROUTE_BLACKHOLE},
		{"unreachable", ROUTE_UNREACHABLE},
		{"prohibit", ROUTE_PROHIBIT},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(word, kinds[i].word) == 0)
			return (int)kinds[i].kind;
	return -1;
}

static int read_prefix(struct words *words, struct route *route)
{
	const struct text_token *token = words_next(words);
	char text[ADDRESS_TEXT_MAX];

	if (token == NULL)
		return text_lines_fail(words->lines, words->lines->end_column, words->error,
			"no prefix; write one, as 10.0.0.0/8");
	// Which family a default route is of, its gateway says.
	if (strcmp(token->text, "default") == 0) {
		for (size_t i = 0; i < words->lines->n; i++)
			route->prefix.address.is_v6 |=
				strchr(words->lines->tokens[i].text, ':') != NULL;
		return 0;
	}
	if (prefix_parse(token->text, &route->prefix) < 0)
		return words_fail(words, token,
			"no prefix; write default, or an address with or without a length, as "
			"10.0.0.0/8, blackhole, unreachable or prohibit before it");
	const struct address masked = address_masked(&route->prefix.address, route->prefix.depth);
	if (address_compare(&masked, &route->prefix.address) != 0)
		return text_lines_fail(words->lines, token->column, words->error,
			"%s: bits behind the prefix are set; write %s/%u", token->text,
			address_text(&masked, text), route->prefix.depth);
	return 0;
}

// Loopback, multicast and this host: no router forwards to them (RFC 1812 5.3.7).
static bool is_never_forwarded(const struct prefix *prefix)
{
	const uint8_t *bytes = prefix->address.bytes;

	if (prefix->depth < 8)
		return false;
	if (prefix->address.is_v6)
		return bytes[0] == 0xff;
	return bytes[0] == 0 || bytes[0] == 127 || (bytes[0] >> 4) == 14;
}

// Each port has a link-local network of its own, which `ip -6 route` lists once a port.
static bool is_link_local(const struct prefix *prefix)
{
	const uint8_t *bytes = prefix->address.bytes;

	return prefix->address.is_v6 && prefix->depth >= 10 && bytes[0] == 0xfe &&
	       (bytes[1] & 0xc0) == 0x80;
}

// What the words of a line make together.
static int check_route(struct words *words, struct route *route)
{
	bool is_forward = route->kind == ROUTE_FORWARD;
	unsigned int column = words->lines->end_column;

	if (is_never_forwarded(&route->prefix))
		return text_lines_fail(words->lines, words->lines->tokens[0].column, words->error,
			"nothing is forwarded to such addresses; take the line away");
	if (!is_forward && (route->has_via || route->has_source))
		return text_lines_fail(words->lines, words->lines->tokens[0].column, words->error,
			"%s leads nowhere; take via and src away", words->lines->tokens[0].text);
	if (is_forward && !route->has_via && route->port == ROUTING_NO_PORT)
		return text_lines_fail(words->lines, column, words->error,
			"where to? add via ADDRESS, dev PORT, or both");
	if (is_forward && !route->has_via)
		route->kind = ROUTE_CONNECTED;
	if (route->prefix.address.is_v6 && route->metric == 0)
		route->metric = default_metric6;
	return 0;
}

static int read_route(struct words *words, struct route *route)
{
	int kind = kind_of(words->lines->tokens[0].text);

	*route = (struct route){.kind = kind >= 0 ? (enum route_kind)kind : ROUTE_FORWARD,
		.port = ROUTING_NO_PORT,
		.line = (uint32_t)words->lines->number};
	words->at = kind >= 0;
	int err = read_prefix(words, route);
	// As `ip` does, it refuses a word that comes twice.
	while (err == 0 && words->at < words->lines->n) {
		const struct text_token *word = words_next(words);
		for (const struct text_token *earlier = words->lines->tokens; earlier < word;
			earlier++)
			if (strcmp(earlier->text, word->text) == 0)
				return words_fail(words, word, "given twice; give it once");
		err = read_route_word(words, word, route);
	}
	return err == 0 ? check_route(words, route) : err;
}

int routing_read_routes(struct routing *routing, struct text_lines *lines, struct error *error)
{
	struct route route;
	int err;

	while ((err = text_lines_next(lines, error)) == 1) {
		struct words words = {.lines = lines, .routing = routing, .error = error};
		err = read_route(&words, &route);
		if (err == 0 && !is_link_local(&route.prefix))
			err = routing_add_route(routing, &route, error);
		if (err < 0)
			break;
	}
	return err;
}
