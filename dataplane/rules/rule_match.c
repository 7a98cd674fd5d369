// Comparisons of rules: which field each names, and what it says of the packet besides.

#include "rules_priv.h"

#include <errno.h>
#include <string.h>

enum { ICMP = 1, TCP = 6, UDP = 17, ICMPV6 = 58 };

static const struct match {
	const char *what, *key; // key NULL: the value follows at once
	enum rule_field field;
	enum value_kind kind;
	uint8_t protocol, family; // what else it says; 0: nothing
} matches[] = {
	{"iifname", NULL, RULE_PORT, VALUE_INTERFACE, 0, 0},
	{"meta", "nfproto", RULE_FAMILY, VALUE_FAMILY, 0, 0},
	{"meta", "l4proto", RULE_PROTOCOL, VALUE_PROTOCOL, 0, 0},
	{"ip", "protocol", RULE_PROTOCOL, VALUE_PROTOCOL, 0, 4},
	{"ip", "saddr", RULE_SADDR4, VALUE_ADDRESS4, 0, 4},
	{"ip", "daddr", RULE_DADDR4, VALUE_ADDRESS4, 0, 4},
	{"ip6", "saddr", RULE_SADDR6, VALUE_ADDRESS6, 0, 6},
	{"ip6", "daddr", RULE_DADDR6, VALUE_ADDRESS6, 0, 6},
	{"tcp", "sport", RULE_SPORT, VALUE_PORT, TCP, 0},
	{"tcp", "dport", RULE_DPORT, VALUE_PORT, TCP, 0},
	{"tcp", "flags", RULE_N_FIELDS, VALUE_TCP_FLAG, TCP, 0},
	{"udp", "sport", RULE_SPORT, VALUE_PORT, UDP, 0},
	{"udp", "dport", RULE_DPORT, VALUE_PORT, UDP, 0},
	{"th", "sport", RULE_SPORT, VALUE_PORT, 0, 0},
	{"th", "dport", RULE_DPORT, VALUE_PORT, 0, 0},
	{"icmp", "type", RULE_TYPE, VALUE_TYPE4, ICMP, 4},
	{"icmpv6", "type", RULE_TYPE, VALUE_TYPE6, ICMPV6, 6},
	{"ct", "state", RULE_STATE, VALUE_STATE, 0, 0},
};

enum { N_MATCHES = sizeof(matches) / sizeof(matches[0]) };

// What nftables has and this has not, by the word it begins with, and what helps.
static const struct {
	const char *word, *remedy;
} refused[] = {
	{"reject", "nothing is answered here; write drop"},
	{"log", "nothing is logged here; each rule is counted, see --stats"},
	{"limit", "there are no rates here; remove it"},
	{"quota", "there are no quotas here; remove it"},
	{"jump", "there is one chain; write its rules where it is called"},
	{"goto", "there is one chain; write its rules where it is called"},
	{"return", "there is one chain; write what its policy says, accept or drop"},
	{"continue", "a rule decides; write accept or drop"},
	{"queue", "there is nobody to ask; write accept or drop"},
	{"snat", "addresses are not translated here; remove it"},
	{"dnat", "addresses are not translated here; remove it"},
	{"masquerade", "addresses are not translated here; remove it"},
	{"redirect", "addresses are not translated here; remove it"},
	{"notrack", "every packet is tracked where a rule asks for ct state; remove it"},
	{"oifname", "a packet's way out is not compared here; write iifname and addresses"},
	{"oif", "a packet's way out is not compared here; write iifname and addresses"},
	{"iif", "ports have no index here; write iifname \"port0\""},
	{"ether", "MAC addresses are not compared here; remove it"},
	{"vlan", "VLAN tags are looked behind, not compared; remove it"},
	{"arp", "ARP is no matter of an inet table; option arp says what becomes of it"},
	{"not", "write != before the value"},
	{"vmap", "verdict maps are not understood; write a rule for each value"},
	{"sctp", "ports are compared of TCP and UDP alone; remove it"},
	{"dccp", "ports are compared of TCP and UDP alone; remove it"},
	{"udplite", "ports are compared of TCP and UDP alone; remove it"},
};

int match_refuse(struct reader *reader)
{
	const char *word = reader->word.text;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strcmp(refused[i].word, word) == 0)
			return READER_FAIL(reader, "%s: %s", word, refused[i].remedy);
	return READER_FAIL(reader,
		"%s: a comparison (iifname, meta, ip, ip6, tcp, udp, th, icmp, icmpv6, ct), "
		"counter, accept or drop wanted",
		*word != '\0' ? word : "the end of the line");
}

// Let the field be what it was and is in wanted, too; takes wanted's memory.
static int narrow(
	struct reader *reader, const struct word *at, struct ranges *field, struct ranges *wanted)
{
	int err = 0;

	if (field->n == 0) {
		*field = *wanted;
		return 0;
	}
	err = ranges_intersect(wanted, field);
	ranges_clear(field);
	*field = *wanted;
	if (err == 0 && field->n > 0)
		return 0;
	return text_lines_fail(&reader->lines, at->column, reader->error, "%s: %s", at->text,
		err < 0 ? strerror(-err)
			: "contradicts what stands before it: no packet fits both; remove one");
}

static int narrow_to(
	struct reader *reader, const struct word *at, struct ranges *field, uint8_t value)
{
	struct ranges wanted = {0};
	int err = ranges_add(&wanted, value, value);

	if (value == 0) {
		ranges_clear(&wanted);
		return 0;
	}
	if (err < 0)
		return text_lines_fail(
			&reader->lines, at->column, reader->error, "%s", strerror(-err));
	return narrow(reader, at, field, &wanted);
}

// tcp flags FLAGS / FLAGS: those on the left are set, of those on the right no others. Or one flag,
// which is set; nftables has no mask of one.
static int read_tcp_flags(struct reader *reader, struct rule *rule)
{
	uint8_t set, mask;

	if (rule->tcp_flags_mask != 0)
		return READER_FAIL(reader, "tcp flags may stand once in a rule; write one mask");
	int err = value_read_flags(reader, &set);
	if (err < 0)
		return err;
	mask = set;
	bool has_mask = reader_took(reader, "/"), is_one = (set & (set - 1)) == 0;
	if (!has_mask && !is_one)
		return READER_FAIL(reader, "/ and a mask wanted, as in: tcp flags syn / "
					   "fin,syn,rst,ack");
	if (has_mask)
		err = value_read_flags(reader, &mask);
	if (err < 0)
		return err;
	if (has_mask && (mask & (mask - 1)) == 0)
		return READER_FAIL(reader, "a mask of one flag; write that flag alone");
	if ((set & ~mask) != 0)
		return READER_FAIL(reader, "a flag to be set is not in the mask: no packet fits; "
					   "add it to the mask");
	rule->tcp_flags = set;
	rule->tcp_flags_mask = mask;
	return 0;
}

// The row of the word, or of it and the next one. Returns 1, 0 where there is none, or -EINVAL.
static int find(struct reader *reader, const struct match **out)
{
	const char *what = NULL;

	for (size_t i = 0; i < N_MATCHES; i++) {
		if (!reader_is(reader, matches[i].what))
			continue;
		what = matches[i].what;
		*out = &matches[i];
	}
	if (what == NULL)
		return 0;
	reader_next(reader);
	if ((*out)->key == NULL)
		return 1;
	for (size_t i = 0; i < N_MATCHES; i++)
		if (strcmp(matches[i].what, what) == 0 && reader_took(reader, matches[i].key)) {
			*out = &matches[i];
			return 1;
		}
	(void)READER_FAIL(
		reader, "%s %s: not understood; of %s there is", what, reader->word.text, what);
	for (size_t i = 0; i < N_MATCHES; i++)
		if (strcmp(matches[i].what, what) == 0)
			error_append(reader->error, " %s", matches[i].key);
	return -EINVAL;
}

int match_read(struct reader *reader, struct rule *rule)
{
	const struct word at = reader->word;
	const struct match *match = NULL;
	struct ranges wanted = {0};
	int err = find(reader, &match);

	if (err <= 0)
		return err;
	err = narrow_to(reader, &at, &rule->fields[RULE_PROTOCOL], match->protocol);
	if (err == 0)
		err = narrow_to(reader, &at, &rule->fields[RULE_FAMILY], match->family);
	if (err < 0)
		return err;
	if (match->field == RULE_N_FIELDS) {
		err = read_tcp_flags(reader, rule);
	} else {
		err = value_read(reader, match->kind, &wanted);
		if (err == 0)
			err = narrow(reader, &at, &rule->fields[match->field], &wanted);
	}
	return err < 0 ? err : 1;
}
