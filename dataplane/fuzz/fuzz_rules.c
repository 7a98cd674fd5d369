// A firewall's rules file. What is refused is refused with its place; what is understood can be
// compared: ranges in order, cut into blocks that are all of them and nothing else, and no port or
// type without the protocol that has it.

#include "fuzz.h"
#include "rules.h"

#include <string.h>

static const unsigned int bits[] = {[RULE_PORT] = 8,
	[RULE_FAMILY] = 8,
	[RULE_PROTOCOL] = 8,
	[RULE_STATE] = 8,
	[RULE_SADDR4] = 32,
	[RULE_DADDR4] = 32,
	[RULE_SADDR6] = 128,
	[RULE_DADDR6] = 128,
	[RULE_SPORT] = 16,
	[RULE_DPORT] = 16,
	[RULE_TYPE] = 8};

static void check_blocks(const struct range *range, unsigned int width)
{
	unsigned __int128 first = range->first;

	for (unsigned int n_blocks = 0; n_blocks < 2 * width; n_blocks++) {
		unsigned int n_free = ranges_block(first, range->last, width);
		unsigned __int128 rest = n_free == 128 ? ~(unsigned __int128)0
						       : ((unsigned __int128)1 << n_free) - 1;
		must((first & rest) == 0 && rest <= range->last - first, "a block is a prefix");
		if (first + rest == range->last)
			return;
		first += rest + 1;
	}
	must(0, "two blocks a bit are enough");
}

static void check_ranges(const struct ranges *ranges, unsigned int width)
{
	unsigned __int128 last = ~(unsigned __int128)0 >> (128 - width);

	for (size_t i = 0; i < ranges->n; i++) {
		const struct range *range = &ranges->items[i];
		must(range->first <= range->last && range->last <= last, "a range is one");
		if (i > 0)
			must(range->first - range[-1].last > 1, "ranges are apart and in order");
		check_blocks(range, width);
	}
}

static int is_only(const struct ranges *ranges, unsigned int value)
{
	return ranges->n == 1 && ranges->items[0].first == value && ranges->items[0].last == value;
}

static void check_rule(const struct rule *rule)
{
	const struct ranges *fields = rule->fields;

	for (size_t i = 0; i < RULE_N_FIELDS; i++)
		check_ranges(&fields[i], bits[i]);
	if (fields[RULE_SADDR4].n > 0 || fields[RULE_DADDR4].n > 0)
		must(is_only(&fields[RULE_FAMILY], 4), "an IPv4 address is of IPv4");
	if (fields[RULE_SADDR6].n > 0 || fields[RULE_DADDR6].n > 0)
		must(is_only(&fields[RULE_FAMILY], 6), "an IPv6 address is of IPv6");
	if (fields[RULE_TYPE].n > 0)
		must(is_only(&fields[RULE_PROTOCOL], 1) || is_only(&fields[RULE_PROTOCOL], 58),
			"a type is of ICMP");
	if (fields[RULE_SPORT].n > 0 || fields[RULE_DPORT].n > 0)
		must(fields[RULE_PROTOCOL].n > 0 && !ranges_has(&fields[RULE_PROTOCOL], 1),
			"a port is of TCP or UDP");
	if (rule->tcp_flags_mask != 0)
		must(is_only(&fields[RULE_PROTOCOL], 6), "flags are of TCP");
	must((rule->tcp_flags & ~rule->tcp_flags_mask) == 0, "flags that are set are compared");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct error error = {0};
	struct rules rules;

	if (len == 0)
		return 0;
	FILE *file = fmemopen((void *)data, len, "r");
	must(file != NULL, "memory");
	if (rules_read(file, "rules", &rules, &error) < 0) {
		must(strncmp(error.text, "rules:", 6) == 0, "a refusal names its place");
		must(rules.n == 0 && rules.items == NULL, "nothing is left of what is refused");
		return 0;
	}
	for (size_t i = 0; i < rules.n; i++)
		check_rule(&rules.items[i]);
	rules_clear(&rules);
	return 0;
}
