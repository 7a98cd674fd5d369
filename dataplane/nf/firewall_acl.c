#include "firewall_acl.h"

#include <rte_common.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Fields of rte_acl: the first is a byte, then groups of four bytes.
enum {
	ACL_PROTOCOL,
	ACL_SADDR, // one of IPv4, four of IPv6; then as many of daddr, then the rest
	ADDRESS_WORDS_MAX = 4,
	ACL_FIELDS_MAX = 1 + 2 * ADDRESS_WORDS_MAX + 6,
};

RTE_ACL_RULE_DEF(acl_rule, ACL_FIELDS_MAX);

#define INPUT(field) offsetof(struct packet_fields, field)

// The fields behind the addresses, in order.
static const struct {
	uint8_t type, size, offset;
	bool begins_group;
} tail[] = {
	{RTE_ACL_FIELD_TYPE_RANGE, 2, INPUT(sport), true},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, INPUT(dport), false},
	{RTE_ACL_FIELD_TYPE_RANGE, 1, INPUT(state), true},
	{RTE_ACL_FIELD_TYPE_BITMASK, 1, INPUT(tcp_flags), false},
	{RTE_ACL_FIELD_TYPE_BITMASK, 1, INPUT(has), false},
	{RTE_ACL_FIELD_TYPE_RANGE, 1, INPUT(port), false},
};

enum {
	TAIL_SPORT,
	TAIL_DPORT,
	TAIL_STATE,
	TAIL_TCP_FLAGS,
	TAIL_HAS,
	TAIL_PORT,
	TAIL_N,
};

// What a rule's field becomes: a range, or of an address its prefixes.
static const struct {
	enum rule_field v4, v6;
	int tail; // of a range, its place in tail; TAIL_N: the protocol, which is none of them
	unsigned int bits; // of a range; 0: an address
} steps[] = {
	{RULE_PROTOCOL, RULE_PROTOCOL, TAIL_N, 8},
	{RULE_SADDR4, RULE_SADDR6, 0, 0},
	{RULE_DADDR4, RULE_DADDR6, 0, 0},
	{RULE_SPORT, RULE_SPORT, TAIL_SPORT, 16},
	{RULE_DPORT, RULE_DPORT, TAIL_DPORT, 16},
	{RULE_STATE, RULE_STATE, TAIL_STATE, 8},
	{RULE_PORT, RULE_PORT, TAIL_PORT, 8},
};

enum { STEP_SADDR = 1, STEP_SPORT = 3 };

// What rte_acl makes of rules can be told only by building it: a file of 10,000 five-tuples took
// 3.7 KB a rule, 5,000 random rules with sets and != 14 KB, which were 33 of rte_acl's each.
enum {
	RULE_BYTES = 8 << 10, // of a rule of the file
	ENTRY_BYTES = 400, // of each of rte_acl's that it becomes: with its own copy of it
	SPARE_BYTES = 4 << 20,
};

// All that one rule becomes: every combination of its fields' ranges.
struct expansion {
	const struct rule *rule;
	struct rte_acl_ctx *ctx; // NULL: only counted
	size_t n; // of all rules so far
	int err;
	unsigned int n_words; // of an address: 1 or 4
	struct acl_rule made;
};

static void define(
	struct rte_acl_config *config, uint8_t type, uint8_t size, uint8_t group, uint32_t offset)
{
	uint8_t index = (uint8_t)config->num_fields++;

	config->defs[index] = (struct rte_acl_field_def){.type = type,
		.size = size,
		.field_index = index,
		.input_index = group,
		.offset = offset};
}

static void define_all(struct rte_acl_config *config, unsigned int n_words)
{
	uint8_t group = 0;

	*config = (struct rte_acl_config){.num_categories = 1};
	define(config, RTE_ACL_FIELD_TYPE_RANGE, 1, group++, INPUT(protocol));
	for (unsigned int i = 0; i < n_words; i++)
		define(config, RTE_ACL_FIELD_TYPE_MASK, 4, group++, INPUT(saddr) + 4 * i);
	for (unsigned int i = 0; i < n_words; i++)
		define(config, RTE_ACL_FIELD_TYPE_MASK, 4, group++, INPUT(daddr) + 4 * i);
	for (size_t i = 0; i < RTE_DIM(tail); i++) {
		if (i > 0 && tail[i].begins_group)
			group++;
		define(config, tail[i].type, tail[i].size, group, tail[i].offset);
	}
}

static struct rte_acl_field *tail_field(struct expansion *expansion, int place)
{
	return &expansion->made.field[ACL_SADDR + 2 * expansion->n_words + place];
}

static void put(struct expansion *expansion)
{
	expansion->n++;
	if (expansion->ctx != NULL && expansion->err == 0)
		expansion->err = rte_acl_add_rules(
			expansion->ctx, (const struct rte_acl_rule *)&expansion->made, 1);
}

// The address's words: 2^n_free numbers from first on.
static void set_block(struct expansion *expansion, unsigned int step, unsigned __int128 first,
	unsigned int n_free)
{
	unsigned int n_words = expansion->n_words, prefix = 32 * n_words - n_free;
	struct rte_acl_field *field =
		&expansion->made.field[ACL_SADDR + (step - STEP_SADDR) * n_words];

	for (unsigned int i = 0; i < n_words; i++) {
		field[i].value.u32 = (uint32_t)(first >> (32 * (n_words - 1 - i)));
		field[i].mask_range.u32 = prefix > 32 ? 32 : prefix;
		prefix -= field[i].mask_range.u32;
	}
}

static void expand(struct expansion *expansion, unsigned int step);

static void expand_address(
	struct expansion *expansion, unsigned int step, const struct range *range)
{
	unsigned int width = 32 * expansion->n_words;
	unsigned __int128 first = range->first;

	for (;;) {
		unsigned int n_free = ranges_block(first, range->last, width);
		unsigned __int128 rest = n_free == 128 ? ~(unsigned __int128)0
						       : ((unsigned __int128)1 << n_free) - 1;
		set_block(expansion, step, first, n_free);
		expand(expansion, step + 1);
		if (first + rest == range->last)
			return;
		first += rest + 1;
	}
}

static void set_range(struct expansion *expansion, unsigned int step, const struct range *range)
{
	struct rte_acl_field *field = steps[step].tail == TAIL_N
					      ? &expansion->made.field[ACL_PROTOCOL]
					      : tail_field(expansion, steps[step].tail);

	if (steps[step].bits == 16) {
		field->value.u16 = (uint16_t)range->first;
		field->mask_range.u16 = (uint16_t)range->last;
	} else {
		field->value.u8 = (uint8_t)range->first;
		field->mask_range.u8 = (uint8_t)range->last;
	}
}

static void expand(struct expansion *expansion, unsigned int step)
{
	if (expansion->n > ACL_RULES_MAX || expansion->err < 0)
		return;
	if (step == RTE_DIM(steps)) {
		put(expansion);
		return;
	}
	bool is_v6 = expansion->n_words > 1, is_address = steps[step].bits == 0;
	const struct rule *rule = expansion->rule;
	const struct ranges *ranges = &rule->fields[is_v6 ? steps[step].v6 : steps[step].v4];
	// An ICMP type stands where a port does.
	if (step == STEP_SPORT && rule->fields[RULE_TYPE].n > 0)
		ranges = &rule->fields[RULE_TYPE];
	unsigned int bits = is_address ? 32 * expansion->n_words : steps[step].bits;
	const struct range all = {0, ~(unsigned __int128)0 >> (128 - bits)};

	for (size_t i = 0; i < RTE_MAX(ranges->n, (size_t)1); i++) {
		const struct range *range = ranges->n > 0 ? &ranges->items[i] : &all;
		if (is_address) {
			expand_address(expansion, step, range);
			continue;
		}
		set_range(expansion, step, range);
		expand(expansion, step + 1);
	}
}

// What of the header has to be there for the rule to fit.
static uint8_t needs(const struct rule *rule)
{
	return (uint8_t)((rule->fields[RULE_SPORT].n > 0 ? HAS_SPORT : 0) |
			 (rule->fields[RULE_DPORT].n > 0 ? HAS_DPORT : 0) |
			 (rule->tcp_flags_mask != 0 ? HAS_TCP_FLAGS : 0) |
			 (rule->fields[RULE_TYPE].n > 0 ? HAS_TYPE : 0));
}

static void expand_rule(struct expansion *expansion, const struct rules *rules, size_t number)
{
	const struct rule *rule = &rules->items[number];
	const struct ranges *families = &rule->fields[RULE_FAMILY];

	if (families->n > 0 && !ranges_has(families, expansion->n_words > 1 ? 6 : 4))
		return;
	expansion->rule = rule;
	expansion->made = (struct acl_rule){.data = {.category_mask = 1,
						    .priority = RTE_ACL_MAX_PRIORITY - (int)number,
						    .userdata = (uint32_t)number + 1}};
	tail_field(expansion, TAIL_TCP_FLAGS)->value.u8 = rule->tcp_flags;
	tail_field(expansion, TAIL_TCP_FLAGS)->mask_range.u8 = rule->tcp_flags_mask;
	tail_field(expansion, TAIL_HAS)->value.u8 = needs(rule);
	tail_field(expansion, TAIL_HAS)->mask_range.u8 = needs(rule);
	expand(expansion, 0);
}

static int fill(struct rte_acl_ctx *ctx, const struct rules *rules, unsigned int n_words, size_t *n,
	struct error *error)
{
	struct expansion expansion = {.ctx = ctx, .n_words = n_words};

	for (size_t i = 0; i < rules->n && expansion.err == 0; i++) {
		expand_rule(&expansion, rules, i);
		if (expansion.n > ACL_RULES_MAX) {
			error_set(error,
				"firewall: with line %lu the rules are more than %d of one range "
				"or prefix a field; join ranges, or write fewer",
				rules->items[i].line, ACL_RULES_MAX);
			return -E2BIG;
		}
	}
	*n = expansion.n;
	return expansion.err;
}

int firewall_acl_memory(const struct rules *rules, uint64_t *bytes, struct error *error)
{
	for (unsigned int n_words = 1; n_words <= ADDRESS_WORDS_MAX;
		n_words += ADDRESS_WORDS_MAX - 1) {
		size_t n;
		int err = fill(NULL, rules, n_words, &n, error);
		if (err < 0)
			return err;
		*bytes += n * ENTRY_BYTES;
	}
	*bytes += rules->n * RULE_BYTES + SPARE_BYTES;
	return 0;
}

static int build(struct rte_acl_ctx **out, const struct rules *rules, unsigned int n_words,
	struct error *error)
{
	struct rte_acl_config config;
	char name[RTE_ACL_NAMESIZE];
	size_t n = 0;
	int err = fill(NULL, rules, n_words, &n, error);

	if (err < 0 || n == 0)
		return err;
	define_all(&config, n_words);
	snprintf(name, sizeof(name), "firewall-%p", (void *)out);
	const struct rte_acl_param param = {.name = name,
		.socket_id = SOCKET_ID_ANY,
		.rule_size = RTE_ACL_RULE_SZ(config.num_fields),
		.max_rule_num = (uint32_t)n};
	*out = rte_acl_create(&param);
	err = *out == NULL ? -ENOMEM : fill(*out, rules, n_words, &n, error);
	if (err == 0)
		err = rte_acl_build(*out, &config);
	if (err < 0)
		error_set(error,
			"firewall: rte_acl, %zu rules of one range or prefix a field: %s; "
			"write fewer, or give it more memory (`-- -m 1024`)",
			n, strerror(-err));
	return err;
}

int firewall_acl_init(struct firewall_acl *acl, const struct rules *rules, struct error *error)
{
	*acl = (struct firewall_acl){0};
	int err = build(&acl->v4, rules, 1, error);

	if (err == 0)
		err = build(&acl->v6, rules, ADDRESS_WORDS_MAX, error);
	if (err < 0)
		firewall_acl_fini(acl);
	return err;
}

void firewall_acl_fini(struct firewall_acl *acl)
{
	rte_acl_free(acl->v4);
	rte_acl_free(acl->v6);
	*acl = (struct firewall_acl){0};
}
