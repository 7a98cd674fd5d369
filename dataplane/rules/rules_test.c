#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "rules.h"

#define HEAD                                                                                       \
	"add table inet t\n"                                                                       \
	"add chain inet t c { type filter hook forward priority 0; policy drop; }\n"

static struct error error;

static int parse(const char *text, struct rules *out)
{
	return rules_read(fmemopen((void *)text, strlen(text), "r"), "fw", out, &error);
}

// Rules of the chain above, which are understood.
static struct rules read_rules(const char *lines)
{
	struct rules rules;
	char text[4096];

	snprintf(text, sizeof(text), HEAD "%s", lines);
	if (parse(text, &rules) < 0)
		fail_msg("%s", error.text);
	return rules;
}

static void assert_range(
	const struct ranges *ranges, size_t i, unsigned __int128 first, unsigned __int128 last)
{
	assert_true(i < ranges->n);
	assert_true(ranges->items[i].first == first && ranges->items[i].last == last);
}

static void test_comparisons_become_ranges(void **state)
{
	struct rules rules = read_rules(
		"add rule inet t c iifname \"port1\" ip saddr 10.1.2.3/8 ip daddr != { 0.0.0.0/1, "
		"192.0.2.1-192.0.2.9 } tcp dport { 80, 443, 8000-8080 } ct state new,established "
		"counter accept comment \"two words\" # and why\n");
	const struct rule *rule = &rules.items[0];

	assert_int_equal(rules.n, 1);
	assert_false(rules.accepts);
	assert_true(rules.has_state && !rules.has_tcp_flags);
	assert_true(rule->accepts);
	assert_int_equal(rule->line, 3);
	assert_range(&rule->fields[RULE_PORT], 0, 1, 1);
	assert_range(&rule->fields[RULE_FAMILY], 0, 4, 4);
	assert_range(&rule->fields[RULE_PROTOCOL], 0, 6, 6);
	assert_range(&rule->fields[RULE_SADDR4], 0, 0x0a000000, 0x0affffff);
	assert_range(&rule->fields[RULE_DADDR4], 0, 0x80000000, 0xc0000200);
	assert_range(&rule->fields[RULE_DADDR4], 1, 0xc000020a, 0xffffffff);
	assert_int_equal(rule->fields[RULE_DPORT].n, 3);
	assert_range(&rule->fields[RULE_DPORT], 2, 8000, 8080);
	assert_int_equal(rule->fields[RULE_STATE].n, 2);
	assert_int_equal(rule->fields[RULE_SPORT].n, 0);
	rules_clear(&rules);
}

static void test_every_way_to_compare_is_understood(void **state)
{
	static const char *const lines[] = {
		"accept",
		"drop comment \"x\"",
		"counter drop",
		"iifname port15 accept",
		"iifname { \"port0\", port1 } accept",
		"meta nfproto ipv6 accept",
		"meta nfproto != ipv4 accept",
		"meta l4proto { tcp, udp } th dport 53 accept",
		"meta l4proto == 17 th sport != 1024-65535 accept",
		"ip protocol icmp accept",
		"ip6 saddr ::/0 ip6 daddr 2001:db8::1-2001:db8::9 accept",
		"tcp flags syn / fin,syn,rst,ack accept",
		"tcp flags syn accept",
		"udp sport 0-65535 accept",
		"icmp type { echo-request, 0 } accept",
		"icmpv6 type != nd-redirect accept",
		"ct state { established, related } accept",
		"ct state != invalid accept",
		"ct state != { established, related } drop",
		"ct state == { established, related } accept",
		"ct state == new accept",
		"ct state untracked accept",
		"ip saddr 10.0.0.0/8 ip saddr != 10.1.0.0/16 accept",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char line[256];
		snprintf(line, sizeof(line), "add rule inet t c %s", lines[i]);
		struct rules rules = read_rules(line);
		assert_int_equal(rules.n, 1);
		rules_clear(&rules);
	}
}

static void test_without_a_policy_what_no_rule_fits_is_accepted(void **state)
{
	struct rules rules;

	assert_int_equal(parse("add table inet t\n"
			       "add chain inet t c {type filter hook forward priority -5;}\n",
				 &rules),
		0);
	assert_true(rules.accepts);
	rules_clear(&rules);
	assert_int_equal(parse("# nothing\n", &rules), 0);
	assert_true(rules.accepts);
	rules_clear(&rules);
}

static void test_a_flag_is_compared_with_its_mask(void **state)
{
	struct rules rules = read_rules("add rule inet t c tcp flags syn,ack / fin,syn,ack drop");

	assert_true(rules.has_tcp_flags);
	assert_int_equal(rules.items[0].tcp_flags, 0x12);
	assert_int_equal(rules.items[0].tcp_flags_mask, 0x13);
	assert_range(&rules.items[0].fields[RULE_PROTOCOL], 0, 6, 6);
	rules_clear(&rules);
}

// What is wrong with the third line, and where: column, words.
static const struct {
	const char *line, *place, *words;
} refused[] = {
	{"table inet t { }", "fw:3:1: ", "`add rule`"},
	{"add set inet t s", "fw:3:5: ", "cannot be honoured"},
	{"add", "fw:3:4: ", "add nothing"},
	{"add table ip t", "fw:3:11: ", "write inet"},
	{"add table inet u", "fw:3:16: ", "a second table"},
	{"add table inet t x", "fw:3:18: ", "the end of the line wanted"},
	{"add chain inet u c", "fw:3:16: ", "no such table"},
	{"add chain inet t d { type filter hook input priority 0; }",
		"fw:3:18: ", "a second chain"},
	{"add rule inet t d accept", "fw:3:17: ", "no such chain"},
	{"add rule inet t c", "fw:3:18: ", "the end of the line: a comparison"},
	{"add rule inet t c ip saddr 1.2.3 accept", "fw:3:28: ", "an IPv4 address"},
	{"add rule inet t c ip saddr 10.0.0.0/33 accept", "fw:3:28: ", "an IPv4 address"},
	{"add rule inet t c ip saddr ::1 accept", "fw:3:28: ", "an IPv4 address"},
	{"add rule inet t c ip6 saddr 1.2.3.4 accept", "fw:3:29: ", "an IPv6 address"},
	{"add rule inet t c ip ttl 1 accept", "fw:3:22: ", "of ip there is protocol saddr"},
	{"add rule inet t c tcp dport 65536 accept", "fw:3:29: ", "a port number"},
	{"add rule inet t c tcp dport 9-8 accept", "fw:3:29: ", "a port number"},
	{"add rule inet t c tcp dport http accept", "fw:3:29: ", "a port number"},
	{"add rule inet t c tcp dport 80,81 accept", "fw:3:31: ", "write { ... }"},
	{"add rule inet t c tcp dport { 80, 81 accept", "fw:3:38: ", "} wanted"},
	{"add rule inet t c tcp dport { } accept", "fw:3:31: ", "a port number"},
	{"add rule inet t c tcp dport != 0-65535 drop", "fw:3:40: ", "no packet fits"},
	{"add rule inet t c tcp dport < 80 drop", "fw:3:29: ", "a port number"},
	{"add rule inet t c th dport 80 drop", "fw:3:31: ", "meta l4proto { tcp, udp }"},
	{"add rule inet t c udp dport 80 tcp sport 1 drop", "fw:3:32: ", "contradicts"},
	{"add rule inet t c ip saddr 1.1.1.1 ip6 daddr ::1 drop", "fw:3:36: ", "contradicts"},
	{"add rule inet t c tcp flags syn,ack drop", "fw:3:37: ", "/ and a mask"},
	{"add rule inet t c tcp flags syn / ack drop", "fw:3:39: ", "mask of one flag"},
	{"add rule inet t c tcp flags syn / ack,rst drop", "fw:3:43: ", "not in the mask"},
	{"add rule inet t c tcp flags syn/ack drop", "fw:3:29: ", "fin, syn"},
	{"add rule inet t c icmp type ping accept", "fw:3:29: ", "echo-request"},
	{"add rule inet t c meta mark 1 accept", "fw:3:24: ", "of meta there is nfproto"},
	{"add rule inet t c ct state snat accept", "fw:3:28: ", "new, established"},
	{"add rule inet t c ct state != established,related drop", "fw:3:42: ", "write { ... }"},
	{"add rule inet t c ct state == established,related accept", "fw:3:42: ", "write { ... }"},
	{"add rule inet t c iifname eth0 accept", "fw:3:27: ", "port0"},
	{"add rule inet t c oifname port1 accept", "fw:3:19: ", "write iifname"},
	{"add rule inet t c log accept", "fw:3:19: ", "--stats"},
	{"add rule inet t c tcp dport 80 reject", "fw:3:32: ", "write drop"},
	{"add rule inet t c limit rate 1/second accept", "fw:3:19: ", "no rates"},
	{"add rule inet t c counter packets 1 bytes 2 drop", "fw:3:27: ", "counter alone"},
	{"add rule inet t c tcp dport 80 counter", "fw:3:39: ", "accept or drop"},
	{"add rule inet t c accept drop", "fw:3:26: ", "the end of the line wanted"},
	{"add rule inet t c accept comment x", "fw:3:34: ", "in quotes"},
	{"add rule inet t c accept comment \"a\" drop \"b\"", "fw:3:34: ", "in quotes"},
	{"add rule inet t c accept comment \"a # b\"", "fw:3:34: ", "in quotes"},
	{"add rule inet t c tcp dport @web accept", "fw:3:29: ", "a port number"},
};

static void test_what_cannot_be_honoured_is_refused_with_its_place(void **state)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct rules rules;
		char text[512];
		snprintf(text, sizeof(text), HEAD "%s\n", refused[i].line);
		assert_true(parse(text, &rules) < 0);
		if (strncmp(error.text, refused[i].place, strlen(refused[i].place)) != 0 ||
			strstr(error.text, refused[i].words) == NULL)
			fail_msg("%s: %s", refused[i].line, error.text);
		assert_null(rules.items);
	}
}

static void test_chains_of_other_kinds_are_refused(void **state)
{
	static const struct {
		const char *line, *words;
	} bad[] = {
		{"add chain inet t c", "{ wanted"},
		{"add chain inet t c { type nat hook forward priority 0; }", "filter wanted"},
		{"add chain inet t c { type filter hook input priority 0; }", "forward wanted"},
		{"add chain inet t c { type filter hook forward priority x; }", "a priority"},
		{"add chain inet t c { type filter hook forward priority 0; policy reject; }",
			"accept or drop"},
		{"add chain inet t c { type filter hook forward priority 0; policy drop }",
			"; wanted"},
		{"add chain inet t c { type filter hook forward priority 0;", "} wanted"},
		{"add rule inet t c accept", "no such chain"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rules rules;
		char text[512];
		snprintf(text, sizeof(text), "add table inet t\n%s\n", bad[i].line);
		assert_true(parse(text, &rules) < 0);
		if (strncmp(error.text, "fw:2:", 5) != 0 ||
			strstr(error.text, bad[i].words) == NULL)
			fail_msg("%s: %s", bad[i].line, error.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comparisons_become_ranges),
		cmocka_unit_test(test_every_way_to_compare_is_understood),
		cmocka_unit_test(test_without_a_policy_what_no_rule_fits_is_accepted),
		cmocka_unit_test(test_a_flag_is_compared_with_its_mask),
		cmocka_unit_test(test_what_cannot_be_honoured_is_refused_with_its_place),
		cmocka_unit_test(test_chains_of_other_kinds_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
