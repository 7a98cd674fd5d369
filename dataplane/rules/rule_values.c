// Values of rules: numbers, names, addresses, alone or as sets.

#include "rules_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct name {
	const char *text;
	uint8_t value;
};

static const struct name protocols[] = {{"icmp", 1}, {"igmp", 2}, {"tcp", 6}, {"udp", 17},
	{"dccp", 33}, {"gre", 47}, {"esp", 50}, {"ah", 51}, {"icmpv6", 58}, {"ipv6-icmp", 58},
	{"sctp", 132}, {"udplite", 136}, {NULL, 0}};

static const struct name types4[] = {{"echo-reply", 0}, {"destination-unreachable", 3},
	{"source-quench", 4}, {"redirect", 5}, {"echo-request", 8}, {"router-advertisement", 9},
	{"router-solicitation", 10}, {"time-exceeded", 11}, {"parameter-problem", 12},
	{"timestamp-request", 13}, {"timestamp-reply", 14}, {"info-request", 15},
	{"info-reply", 16}, {"address-mask-request", 17}, {"address-mask-reply", 18}, {NULL, 0}};

static const struct name types6[] = {{"destination-unreachable", 1}, {"packet-too-big", 2},
	{"time-exceeded", 3}, {"parameter-problem", 4}, {"echo-request", 128}, {"echo-reply", 129},
	{"mld-listener-query", 130}, {"mld-listener-report", 131}, {"mld-listener-done", 132},
	{"nd-router-solicit", 133}, {"nd-router-advert", 134}, {"nd-neighbor-solicit", 135},
	{"nd-neighbor-advert", 136}, {"nd-redirect", 137}, {"mld2-listener-report", 143},
	{NULL, 0}};

static const struct name families[] = {{"ipv4", 4}, {"ipv6", 6}, {NULL, 0}};

static const struct name states[] = {{"established", STATE_ESTABLISHED}, {"related", STATE_RELATED},
	{"new", STATE_NEW}, {"invalid", STATE_INVALID}, {"untracked", STATE_UNTRACKED}, {NULL, 0}};

static const struct name tcp_flags[] = {{"fin", 0x01}, {"syn", 0x02}, {"rst", 0x04}, {"psh", 0x08},
	{"ack", 0x10}, {"urg", 0x20}, {"ecn", 0x40}, {"cwr", 0x80}, {NULL, 0}};

static const struct name none[] = {{NULL, 0}};

// What each kind accepts. first: names alone where it is above last.
static const struct kind {
	const struct name *names;
	uint32_t first, last; // numbers
	unsigned int bits;
	const char *wanted;
} kinds[] = {
	[VALUE_ADDRESS4] = {none, 1, 0, 32, "an IPv4 address, ADDRESS/LENGTH or FIRST-LAST"},
	[VALUE_ADDRESS6] = {none, 1, 0, 128, "an IPv6 address, ADDRESS/LENGTH or FIRST-LAST"},
	[VALUE_PORT] = {none, 0, 65535, 16, "a port number, 0 to 65535, or FIRST-LAST"},
	[VALUE_PROTOCOL] = {protocols, 0, 255, 8, "a protocol's name, or its number, 0 to 255"},
	[VALUE_TYPE4] = {types4, 0, 255, 8, "a type's name, as echo-request, or 0 to 255"},
	[VALUE_TYPE6] = {types6, 0, 255, 8, "a type's name, as echo-request, or 0 to 255"},
	[VALUE_FAMILY] = {families, 1, 0, 8, "ipv4 or ipv6"},
	[VALUE_STATE] = {states, 1, 0, 0, "new, established, related, invalid or untracked"},
	[VALUE_INTERFACE] = {none, 1, 0, 8, "\"port0\" to \"port15\", in the order of --port"},
	[VALUE_TCP_FLAG] = {tcp_flags, 1, 0, 8, "fin, syn, rst, psh, ack, urg, ecn or cwr"},
};

unsigned __int128 value_last(enum value_kind kind)
{
	unsigned int bits = kinds[kind].bits;

	if (kind == VALUE_STATE)
		return STATE_N - 1;
	return bits == 128 ? ~(unsigned __int128)0 : ((unsigned __int128)1 << bits) - 1;
}

static bool parse_number(const char *text, uint32_t first, uint32_t last, unsigned __int128 *out)
{
	size_t n_digits = strspn(text, "0123456789");

	if (n_digits == 0 || n_digits > 9 || text[n_digits] != '\0')
		return false;
	unsigned long value = strtoul(text, NULL, 10);
	*out = value;
	return value >= first && value <= last;
}

static bool parse_name(const struct name *names, const char *text, unsigned __int128 *out)
{
	for (; names->text != NULL; names++)
		if (strcmp(names->text, text) == 0) {
			*out = names->value;
			return true;
		}
	return false;
}

static bool parse_address(enum value_kind kind, const char *text, unsigned __int128 *out)
{
	unsigned char bytes[16];
	size_t len = kind == VALUE_ADDRESS4 ? 4 : 16;

	if (inet_pton(kind == VALUE_ADDRESS4 ? AF_INET : AF_INET6, text, bytes) != 1)
		return false;
	*out = 0;
	for (size_t i = 0; i < len; i++)
		*out = *out << 8 | bytes[i];
	return true;
}

// "port3", in quotes or without.
static bool parse_interface(const char *text, unsigned __int128 *out)
{
	char name[16];
	size_t len = strlen(text);

	if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
		text++;
		len -= 2;
	}
	if (len >= sizeof(name))
		return false;
	memcpy(name, text, len);
	name[len] = '\0';
	return strncmp(name, "port", 4) == 0 && (name[4] != '0' || name[5] == '\0') &&
	       parse_number(name + 4, 0, 15, out);
}

static bool parse_one(enum value_kind kind, const char *text, unsigned __int128 *out)
{
	if (kind == VALUE_ADDRESS4 || kind == VALUE_ADDRESS6)
		return parse_address(kind, text, out);
	if (kind == VALUE_INTERFACE)
		return parse_interface(text, out);
	return parse_name(kinds[kind].names, text, out) ||
	       parse_number(text, kinds[kind].first, kinds[kind].last, out);
}

// ADDRESS/LENGTH; bits behind the length are none of the prefix, as nftables has it.
static bool parse_prefix(enum value_kind kind, char *text, char *slash, struct range *out)
{
	unsigned int bits = kinds[kind].bits;
	unsigned __int128 len, host;

	*slash = '\0';
	if (!parse_one(kind, text, &out->first) || !parse_number(slash + 1, 0, bits, &len))
		return false;
	host = len == 0 ? value_last(kind)
			: ((unsigned __int128)1 << (bits - (unsigned int)len)) - 1;
	out->first &= ~host;
	out->last = out->first | host;
	return true;
}

static bool parse_range(enum value_kind kind, const char *given, struct range *out)
{
	char text[WORD_MAX];

	snprintf(text, sizeof(text), "%s", given);
	if (parse_one(kind, text, &out->first)) {
		out->last = out->first;
		return true;
	}
	char *slash = strchr(text, '/'), *dash = strchr(text, '-');
	if (kind == VALUE_ADDRESS4 || kind == VALUE_ADDRESS6) {
		if (slash != NULL)
			return parse_prefix(kind, text, slash, out);
	} else if (kinds[kind].first > kinds[kind].last) {
		return false; // names alone: there is nothing between them
	}
	if (dash == NULL)
		return false;
	*dash = '\0';
	return parse_one(kind, text, &out->first) && parse_one(kind, dash + 1, &out->last) &&
	       out->first <= out->last;
}

static int read_one(struct reader *reader, enum value_kind kind, struct ranges *out)
{
	struct range range;

	if (!parse_range(kind, reader->word.text, &range))
		return READER_FAIL(reader, "%s: %s wanted",
			*reader->word.text != '\0' ? reader->word.text : "the end of the line",
			kinds[kind].wanted);
	int err = ranges_add(out, range.first, range.last);
	if (err < 0)
		return READER_FAIL(reader, "%s: %s; write several rules", reader->word.text,
			err == -E2BIG ? "a set may have 4096 ranges" : strerror(-err));
	reader_next(reader);
	return 0;
}

// VALUE, { VALUE, ... }, or where a list is understood as a set VALUE,VALUE.
static int read_values(
	struct reader *reader, enum value_kind kind, bool takes_list, struct ranges *out)
{
	bool is_set = reader_took(reader, "{");
	int err = read_one(reader, kind, out);

	while (err == 0 && (is_set || takes_list) && reader_took(reader, ","))
		err = read_one(reader, kind, out);
	if (err == 0 && is_set)
		return reader_expect(reader, "}");
	if (err == 0 && reader_is(reader, ","))
		return READER_FAIL(reader, "a list is a set: write { ... } around it");
	return err;
}

int value_read(struct reader *reader, enum value_kind kind, struct ranges *out)
{
	bool is_inverted = reader_took(reader, "!=");
	bool is_compared = is_inverted || reader_took(reader, "==");

	// nftables adds the bits of a list of states up and asks a packet for any of them, but
	// behind an operator it compares with the sum, which is no packet's state.
	int err = read_values(reader, kind, kind == VALUE_STATE && !is_compared, out);
	if (err == 0 && is_inverted) {
		err = ranges_invert(out, value_last(kind));
		if (err < 0)
			(void)READER_FAIL(reader, "%s; write several rules", strerror(-err));
		else if (out->n == 0)
			err = READER_FAIL(
				reader, "all there is excepted: no packet fits; remove it");
	}
	if (err < 0)
		ranges_clear(out);
	return err;
}

int value_read_flags(struct reader *reader, uint8_t *out)
{
	unsigned __int128 bit;

	*out = 0;
	do {
		if (!parse_one(VALUE_TCP_FLAG, reader->word.text, &bit))
			return READER_FAIL(reader, "%s: %s wanted",
				*reader->word.text != '\0' ? reader->word.text
							   : "the end of the line",
				kinds[VALUE_TCP_FLAG].wanted);
		*out |= (uint8_t)bit;
		reader_next(reader);
	} while (reader_took(reader, ","));
	return 0;
}
