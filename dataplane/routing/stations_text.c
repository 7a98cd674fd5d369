// The lines of the files of neighbours and of the addresses of the ports.

#include "routing_priv.h"
#include "words.h"

#include <errno.h>
#include <string.h>

static int read_neighbour(struct words *words, struct neighbour *neighbour)
{
	static const char *const states[] = {"REACHABLE", "STALE", "DELAY", "PROBE", "PERMANENT",
		"NOARP", "router", "extern_learn"};
	const struct text_token *word = words_next(words);
	bool has_mac = false;
	int err = 0;

	*neighbour =
		(struct neighbour){.port = ROUTING_NO_PORT, .line = (uint32_t)words->lines->number};
	if (address_parse(word->text, &neighbour->address) < 0)
		return words_fail(words, word, "no address; write one as 192.0.2.1 or 2001:db8::1");
	while (err == 0 && (word = words_next(words)) != NULL) {
		bool is_known = false;
		if (strcmp(word->text, "dev") == 0) {
			err = words_port(words, &neighbour->port);
			continue;
		}
		if (strcmp(word->text, "lladdr") == 0) {
			err = words_mac(words, "lladdr", neighbour->mac);
			has_mac = true;
			continue;
		}
		if (strcmp(word->text, "nud") == 0 || strcmp(word->text, "proto") == 0) {
			err = words_skip_value(words, word->text);
			continue;
		}
		for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
			is_known |= strcmp(word->text, states[i]) == 0;
		if (!is_known)
			return words_fail(words, word,
				"cannot be honoured; accepted are dev, lladdr, nud, proto and the "
				"states of a neighbour with an address");
	}
	if (err == 0 && (!has_mac || neighbour->port == ROUTING_NO_PORT))
		return text_lines_fail(words->lines, words->lines->end_column, words->error,
			"%s is missing; write it as 192.0.2.1 dev 1 lladdr 02:00:00:00:00:01",
			has_mac ? "dev" : "lladdr");
	return err;
}

int routing_read_neighbours(struct routing *routing, struct text_lines *lines, struct error *error)
{
	struct neighbour neighbour;
	int err;

	while ((err = text_lines_next(lines, error)) == 1) {
		struct words words = {.lines = lines, .routing = routing, .error = error};
		err = read_neighbour(&words, &neighbour);
		if (err == 0)
			err = routing_add_neighbour(routing, &neighbour, error);
		if (err < 0)
			break;
	}
	return err;
}

// "dev 0 address 02:00:00:00:00:01", as behind `ip link set`.
static int read_port_mac(struct words *words, struct routing *routing)
{
	const struct text_token *word;
	uint8_t mac[MAC_LEN];
	uint16_t port;
	int err;

	words->at = 1;
	err = words_port(words, &port);
	if (err < 0)
		return err;
	word = words_value(words, "dev", "address and a MAC address behind it");
	if (word == NULL)
		return -EINVAL;
	if (strcmp(word->text, "address") != 0)
		return words_fail(
			words, word, "address is wanted here, and a MAC address behind it");
	err = words_mac(words, "address", mac);
	if (err == 0 && words->at < words->lines->n)
		return words_fail(words, words_next(words), "nothing is wanted here; take it away");
	if (err == 0 && routing->ports[port].has_mac)
		return words_fail(words, &words->lines->tokens[1],
			"the port has a MAC address already; give it once");
	if (err == 0) {
		memcpy(routing->ports[port].mac, mac, sizeof(mac));
		routing->ports[port].has_mac = true;
	}
	return err;
}

// "192.0.2.254/24 dev 0", as behind `ip address add`.
static int read_port_address(struct words *words, struct port_address *address)
{
	const struct text_token *word = words_next(words);

	*address = (struct port_address){
		.port = ROUTING_NO_PORT, .line = (uint32_t)words->lines->number};
	if (prefix_parse(word->text, &address->network) < 0)
		return words_fail(words, word,
			"no address; write 192.0.2.254/24 dev 0, or dev 0 address and a MAC "
			"address");
	word = words_next(words);
	if (word == NULL || strcmp(word->text, "dev") != 0)
		return text_lines_fail(words->lines,
			word != NULL ? word->column : words->lines->end_column, words->error,
			"dev and a port are wanted here");
	int err = words_port(words, &address->port);
	if (err == 0 && words->at < words->lines->n)
		return words_fail(words, words_next(words), "nothing is wanted here; take it away");
	return err;
}

int routing_read_addresses(struct routing *routing, struct text_lines *lines, struct error *error)
{
	struct port_address address;
	int err;

	while ((err = text_lines_next(lines, error)) == 1) {
		struct words words = {.lines = lines, .routing = routing, .error = error};
		if (strcmp(lines->tokens[0].text, "dev") == 0) {
			err = read_port_mac(&words, routing);
		} else {
			err = read_port_address(&words, &address);
			if (err == 0)
				err = routing_add_address(routing, &address, error);
		}
		if (err < 0)
			break;
	}
	return err;
}
