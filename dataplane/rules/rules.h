#pragma once

// A firewall's rules as a file says them, in the subset of nftables' syntax that docs/firewall.md
// lists: `nft -f` takes the same file. What is not in the subset is refused with its place; nothing
// is passed over.

#include "error.h"
#include "ranges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// What a rule compares. A field that it does not name has no ranges, and is anything.
enum rule_field {
	RULE_PORT, // where the packet came in: index in the order of --port
	RULE_FAMILY, // 4 or 6
	RULE_PROTOCOL, // of the header behind IP's
	RULE_STATE, // enum rule_state
	RULE_SADDR4, // host order; the rule's family is then 4
	RULE_DADDR4,
	RULE_SADDR6, // likewise 6
	RULE_DADDR6,
	RULE_SPORT, // the rule's protocols are then TCP, UDP or both
	RULE_DPORT,
	RULE_TYPE, // the rule's protocol is then ICMP of its family
	RULE_N_FIELDS,
};

// What `ct state` names. Those that people name together stand together: one range.
enum rule_state {
	STATE_ESTABLISHED,
	STATE_RELATED,
	STATE_NEW,
	STATE_INVALID,
	STATE_UNTRACKED,
	STATE_N,
};

enum { RULES_MAX = 100000 };

struct rule {
	struct ranges fields[RULE_N_FIELDS];
	uint8_t tcp_flags, tcp_flags_mask; // mask 0: any; else the protocol is TCP
	bool accepts;
	unsigned long line;
};

struct rules {
	struct rule *items; // the first that a packet fits decides
	size_t n;
	bool accepts; // what no rule fits
	bool has_state, has_tcp_flags; // some rule asks for them
};

// Read a file. Returns 0, or -errno with "FILE:LINE:COLUMN: what; remedy" in error; out is then
// empty.
int rules_load(const char *path, struct rules *out, struct error *error);

// The same of a stream that is open, which it closes; path is its name in messages.
int rules_read(FILE *file, const char *path, struct rules *out, struct error *error);

void rules_clear(struct rules *rules);
