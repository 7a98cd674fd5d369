// What tests/nf does not ask by random rules: that a table is bounded, that time ends connections,
// and what becomes of frames that no rule sees.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "json_writer.h"
#include "nf_test_env.h"
#include "test_folder.h"

#define HEAD                                                                                       \
	"add table inet t\n"                                                                       \
	"add chain inet t c { type filter hook forward priority 0; policy drop; }\n"
#define STATEFUL                                                                                   \
	HEAD "add rule inet t c ct state established,related accept\n"                             \
	     "add rule inet t c udp dport 53 ct state new accept\n"                                \
	     "add rule inet t c tcp dport 80 ct state new accept\n"

enum { ETHER_LEN = 14, IP_LEN = 20, UDP = 17, TCP = 6 };

static const uint64_t second_ticks = TEST_TSC_HZ;

static int try_firewall(struct test_nf *nf, const char *rules, const char *more)
{
	char path[64], options[128];

	snprintf(path, sizeof(path), "%s/rules", test_folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(rules, file) >= 0);
	assert_int_equal(fclose(file), 0);
	snprintf(options, sizeof(options), "rules=%s%s", path, more);
	return test_nf_create(nf, "firewall", options, 2);
}

static struct test_nf firewall(const char *rules, const char *more)
{
	struct test_nf nf;

	if (try_firewall(&nf, rules, more) < 0)
		fail_msg("%s", test_error.text);
	return nf;
}

static uint8_t *append(struct rte_mbuf **pkt, uint16_t ether_type, uint16_t len)
{
	*pkt = rte_pktmbuf_alloc(test_pool);
	assert_non_null(*pkt);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(*pkt, len);
	memset(frame, 0, len);
	frame[12] = (uint8_t)(ether_type >> 8);
	frame[13] = (uint8_t)ether_type;
	(*pkt)->port = 0;
	return frame;
}

// IPv4 from host to host of 10.0.0.0/24. flags are TCP's.
static struct rte_mbuf *packet(
	uint8_t protocol, uint8_t from, uint8_t to, uint16_t sport, uint16_t dport, uint8_t flags)
{
	struct rte_mbuf *pkt;
	uint8_t *ip = append(&pkt, 0x0800, ETHER_LEN + IP_LEN + 20) + ETHER_LEN;
	const uint8_t upper[] = {(uint8_t)(sport >> 8), (uint8_t)sport, (uint8_t)(dport >> 8),
		(uint8_t)dport, 0, 20, 0, 0, 0, 0, 0, 0, 0x50, flags};

	ip[0] = 0x45;
	ip[3] = IP_LEN + 20;
	ip[9] = protocol;
	ip[12] = ip[16] = 10;
	ip[15] = from;
	ip[19] = to;
	memcpy(ip + IP_LEN, upper, sizeof(upper));
	return pkt;
}

static bool passes(struct test_nf *nf, struct rte_mbuf *pkt, uint64_t now_tsc)
{
	bool is_kept = nf->ops->process(nf->state, &pkt, 1, now_tsc) == 1;

	rte_pktmbuf_free(pkt);
	return is_kept;
}

// What --stats has.
static char *reported(const struct test_nf *nf)
{
	char *text;
	size_t len;
	struct json json = {.out = open_memstream(&text, &len)};

	json_object(&json, NULL);
	nf_report(nf->ops, nf->state, &json);
	json_end(&json);
	assert_int_equal(json_done(&json), 0);
	fclose(json.out);
	return text;
}

static void assert_reported(const struct test_nf *nf, const char *part)
{
	char *text = reported(nf);

	if (strstr(text, part) == NULL)
		fail_msg("%s not in %s", part, text);
	free(text);
}

static void test_without_rules_every_ip_packet_passes(void **state)
{
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "firewall", NULL, 2), 0);
	assert_true(passes(&nf, packet(UDP, 1, 2, 1, 53, 0), 1));
	assert_reported(&nf, "\"policy\":{\"verdict\":\"accept\",\"packets\":1,\"bytes\":54}");
	assert_reported(&nf, "\"connections\":null");
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_an_answer_passes_after_its_question_alone(void **state)
{
	struct test_nf nf = firewall(STATEFUL, "");

	assert_false(passes(&nf, packet(UDP, 2, 1, 53, 9, 0), 1));
	assert_true(passes(&nf, packet(UDP, 1, 2, 9, 53, 0), 2));
	assert_true(passes(&nf, packet(UDP, 2, 1, 53, 9, 0), 3));
	assert_false(passes(&nf, packet(UDP, 2, 1, 53, 10, 0), 4));
	assert_reported(&nf, "{\"line\":3,\"verdict\":\"accept\",\"packets\":1,\"bytes\":54},"
			     "{\"line\":4,\"verdict\":\"accept\",\"packets\":1,\"bytes\":54}");
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_a_burst_is_judged_as_if_packets_came_alone(void **state)
{
	struct test_nf nf = firewall(STATEFUL, "");
	struct rte_mbuf *pkts[] = {packet(UDP, 2, 1, 53, 9, 0), packet(UDP, 1, 2, 9, 53, 0),
		packet(UDP, 2, 1, 53, 9, 0), packet(TCP, 1, 2, 5, 80, 0x02),
		packet(TCP, 1, 2, 5, 80, 0x10), packet(TCP, 2, 1, 80, 5, 0x12)};
	struct rte_mbuf *kept[] = {pkts[1], pkts[2], pkts[3], pkts[5]};

	assert_int_equal(nf.ops->process(nf.state, pkts, 6, 1), 4);
	assert_memory_equal(pkts, kept, sizeof(kept));
	rte_pktmbuf_free_bulk(pkts, 6);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

// What a connection keeps of the rule it met is of one side, state and port.
static void test_what_differs_in_a_connection_meets_the_rules_again(void **state)
{
	struct test_nf nf =
		firewall(HEAD "add rule inet t c iifname \"port1\" udp sport 9 drop\n"
			      "add rule inet t c udp sport 53 ct state established accept\n"
			      "add rule inet t c ct state new accept\n",
			"");
	struct rte_mbuf *pkt;

	for (int i = 0; i < 3; i++)
		assert_true(passes(&nf, packet(UDP, 1, 2, 9, 53, 0), 1)); // new
	pkt = packet(UDP, 1, 2, 9, 53, 0);
	pkt->port = 1;
	assert_false(passes(&nf, pkt, 1));
	for (int i = 0; i < 3; i++) {
		assert_true(passes(&nf, packet(UDP, 2, 1, 53, 9, 0), 1));
		assert_false(passes(&nf, packet(UDP, 1, 2, 9, 53, 0), 1)); // established
	}
	assert_reported(&nf, "{\"line\":3,\"verdict\":\"drop\",\"packets\":1,");
	assert_reported(&nf, "{\"line\":4,\"verdict\":\"accept\",\"packets\":3,");
	assert_reported(&nf, "{\"line\":5,\"verdict\":\"accept\",\"packets\":3,");
	test_nf_destroy(&nf);
	// Flags may be of any rule: here each packet of one connection meets another.
	nf = firewall(HEAD "add rule inet t c ct state invalid drop\n"
			   "add rule inet t c tcp flags psh drop\n"
			   "add rule inet t c accept\n",
		"");
	for (int i = 0; i < 3; i++) {
		assert_true(passes(&nf, packet(TCP, 1, 2, 9, 80, 0x02), 1));
		assert_false(passes(&nf, packet(TCP, 1, 2, 9, 80, 0x0a), 1));
	}
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_time_ends_a_connection(void **state)
{
	struct test_nf nf = firewall(STATEFUL, ",udp=2s,udp_answered=5s");
	uint64_t now_tsc = 1;

	assert_true(passes(&nf, packet(UDP, 1, 2, 9, 53, 0), now_tsc));
	now_tsc += 2 * second_ticks - 1;
	assert_true(passes(&nf, packet(UDP, 2, 1, 53, 9, 0), now_tsc));
	now_tsc += 5 * second_ticks - 1;
	assert_true(passes(&nf, packet(UDP, 2, 1, 53, 9, 0), now_tsc));
	now_tsc += 5 * second_ticks;
	assert_false(passes(&nf, packet(UDP, 2, 1, 53, 9, 0), now_tsc));
	assert_reported(&nf, "\"now\":0,\"begun\":1,\"expired\":1");
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

// Until both sides were heard, and the one that asked was after the answer, a connection may be of
// nobody: it has no place for days.
static void test_half_open_tcp_is_forgotten_soon(void **state)
{
	enum { SYN = 0x02, ACK = 0x10, SYN_ACK = SYN | ACK };
	struct test_nf nf = firewall(STATEFUL, ",tcp_opening=2s,tcp=100s");
	uint64_t now_tsc = 1;

	assert_true(passes(&nf, packet(TCP, 1, 2, 9, 80, SYN), now_tsc)); // and nothing more
	assert_true(passes(&nf, packet(TCP, 2, 1, 80, 9, SYN_ACK), now_tsc));
	assert_true(passes(&nf, packet(TCP, 1, 2, 8, 80, SYN), now_tsc));
	assert_true(passes(&nf, packet(TCP, 2, 1, 80, 8, SYN_ACK), now_tsc));
	assert_true(passes(&nf, packet(TCP, 1, 2, 8, 80, ACK), now_tsc));
	// Older than the table, or said to be.
	assert_true(passes(&nf, packet(TCP, 1, 2, 7, 80, ACK), now_tsc));
	assert_true(passes(&nf, packet(TCP, 1, 2, 6, 80, ACK), now_tsc));
	now_tsc += 2 * second_ticks - 1;
	assert_true(passes(&nf, packet(TCP, 2, 1, 80, 6, ACK), now_tsc));
	now_tsc += 1;
	assert_false(passes(&nf, packet(TCP, 2, 1, 80, 9, SYN_ACK), now_tsc));
	assert_false(passes(&nf, packet(TCP, 2, 1, 80, 7, ACK), now_tsc));
	assert_reported(&nf, "\"now\":2,\"begun\":4,\"expired\":2");
	now_tsc += 50 * second_ticks;
	assert_true(passes(&nf, packet(TCP, 2, 1, 80, 8, ACK), now_tsc));
	assert_true(passes(&nf, packet(TCP, 2, 1, 80, 6, ACK), now_tsc));
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_beside_a_full_table_the_known_go_on(void **state)
{
	enum { BOUND = 100, FLOOD = 1000 };
	struct test_nf nf = firewall(STATEFUL, ",connections=100,udp=2s");
	uint64_t now_tsc = 1;

	for (uint16_t i = 0; i < FLOOD; i++)
		assert_int_equal(passes(&nf, packet(UDP, 1, 2, i, 53, 0), now_tsc), i < BOUND);
	for (uint16_t i = 0; i < BOUND; i++)
		assert_true(passes(&nf, packet(UDP, 2, 1, 53, i, 0), now_tsc));
	assert_reported(&nf, "\"table_full\":900,");
	assert_reported(&nf, "{\"bound\":100,\"most\":100,\"now\":100,\"begun\":100,");
	// Those answered go on for longer; the places of others are free again when their time is
	// over.
	now_tsc += 200 * second_ticks;
	for (uint16_t i = 0; i < FLOOD; i++)
		assert_int_equal(passes(&nf, packet(UDP, 3, 4, i, 53, 0), now_tsc), i < BOUND);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_frames_that_no_rule_sees_are_counted(void **state)
{
	struct test_nf nf = firewall(HEAD "add rule inet t c accept\n", "");
	struct rte_mbuf *pkt;

	(void)append(&pkt, 0x0806, 60);
	assert_true(passes(&nf, pkt, 1));
	(void)append(&pkt, 0x88b5, 60);
	assert_false(passes(&nf, pkt, 1));
	(void)append(&pkt, 0x0800, 33); // a byte less than the header
	assert_false(passes(&nf, pkt, 1));
	(void)append(&pkt, 0x0800, 5);
	rte_pktmbuf_trim(pkt, 5);
	assert_false(passes(&nf, pkt, 1)); // nothing at all
	assert_reported(
		&nf, "\"malformed\":1,\"fragment\":0,\"table_full\":0,\"arp\":0,\"other\":2}");
	assert_reported(&nf, "\"unjudged\":{\"arp\":1,\"other\":0}");
	test_nf_destroy(&nf);
	nf = firewall(HEAD, ",arp=drop,other=accept");
	(void)append(&pkt, 0x0806, 60);
	assert_false(passes(&nf, pkt, 1));
	(void)append(&pkt, 0x88b5, 60);
	assert_true(passes(&nf, pkt, 1));
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

// Lengths of IPv4's header and of the packet that the frame does not have.
static void test_lengths_that_contradict_the_frame_are_malformed(void **state)
{
	static const struct {
		uint8_t at, value;
	} lies[] = {{0, 0x44}, {0, 0x55}, {0, 0x65}, {2, 1}, {3, 19}, {3, 41}, {0, 0x4f}};
	struct test_nf nf = firewall(HEAD "add rule inet t c accept\n", "");

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct rte_mbuf *pkt = packet(UDP, 1, 2, 9, 53, 0);
		rte_pktmbuf_mtod(pkt, uint8_t *)[ETHER_LEN + lies[i].at] = lies[i].value;
		assert_false(passes(&nf, pkt, 1));
	}
	assert_reported(&nf, "\"malformed\":7,");
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_fragments_pass_by_rules_without_state_alone(void **state)
{
	struct test_nf nf = firewall(HEAD "add rule inet t c udp dport 53 accept\n", "");
	struct rte_mbuf *pkt = packet(UDP, 1, 2, 9, 53, 0);

	rte_pktmbuf_mtod(pkt, uint8_t *)[ETHER_LEN + 6] = 0x20; // the first of several
	assert_true(passes(&nf, pkt, 1));
	pkt = packet(UDP, 1, 2, 9, 53, 0);
	rte_pktmbuf_mtod(pkt, uint8_t *)[ETHER_LEN + 7] = 1; // its bytes are no ports
	assert_false(passes(&nf, pkt, 1));
	test_nf_destroy(&nf);
	nf = firewall(STATEFUL, "");
	pkt = packet(UDP, 1, 2, 9, 53, 0);
	rte_pktmbuf_mtod(pkt, uint8_t *)[ETHER_LEN + 6] = 0x20;
	assert_false(passes(&nf, pkt, 1));
	assert_reported(&nf, "\"fragment\":1,");
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_tags_are_looked_behind(void **state)
{
	struct test_nf nf = firewall(HEAD "add rule inet t c udp dport 53 accept\n", "");
	struct rte_mbuf *pkt = packet(UDP, 1, 2, 9, 53, 0);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(pkt, 4) - pkt->data_len + 4;

	memmove(frame + 16, frame + 12, pkt->data_len - 16U);
	frame[12] = 0x81;
	frame[13] = 0;
	assert_true(passes(&nf, pkt, 1));
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_rules_that_cannot_be_had_are_refused(void **state)
{
	struct test_nf nf;
	char text[8192];
	int len = snprintf(text, sizeof(text), HEAD "add rule inet t c ip saddr { ");

	assert_true(try_firewall(&nf, HEAD "add rule inet t c log accept\n", "") < 0);
	assert_non_null(strstr(test_error.text, ":3:19: log: "));
	assert_true(test_nf_create(&nf, "firewall", "rules=/nonexistent/r", 2) < 0);
	assert_non_null(strstr(test_error.text, "/nonexistent/r"));
	assert_true(try_firewall(&nf, HEAD "add rule inet t c iifname port2 accept\n", "") < 0);
	assert_non_null(
		strstr(test_error.text, ":3: port2: no such port; ports are port0 to port1"));
	nf = firewall(HEAD "add rule inet t c iifname { port1, port2 } drop\n", "");
	test_nf_destroy(&nf);
	// Sets multiply: each pair of ranges is a rule of its own.
	for (int i = 0; i < 50; i++)
		len += snprintf(
			text + len, sizeof(text) - (size_t)len, "%s10.0.0.%d", i ? "," : "", 4 * i);
	len += snprintf(text + len, sizeof(text) - (size_t)len, " } tcp sport { ");
	for (int i = 0; i < 70; i++)
		len += snprintf(
			text + len, sizeof(text) - (size_t)len, "%s%d", i ? "," : "", 2 * i);
	len += snprintf(text + len, sizeof(text) - (size_t)len, " } tcp dport { ");
	for (int i = 0; i < 70; i++)
		len += snprintf(
			text + len, sizeof(text) - (size_t)len, "%s%d", i ? "," : "", 2 * i);
	(void)snprintf(text + len, sizeof(text) - (size_t)len, " } accept\n");
	assert_true(try_firewall(&nf, text, "") < 0);
	assert_non_null(strstr(test_error.text, "line 3 the rules are more than 200000"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_rules_every_ip_packet_passes),
		cmocka_unit_test(test_an_answer_passes_after_its_question_alone),
		cmocka_unit_test(test_a_burst_is_judged_as_if_packets_came_alone),
		cmocka_unit_test(test_what_differs_in_a_connection_meets_the_rules_again),
		cmocka_unit_test(test_time_ends_a_connection),
		cmocka_unit_test(test_half_open_tcp_is_forgotten_soon),
		cmocka_unit_test(test_beside_a_full_table_the_known_go_on),
		cmocka_unit_test(test_frames_that_no_rule_sees_are_counted),
		cmocka_unit_test(test_lengths_that_contradict_the_frame_are_malformed),
		cmocka_unit_test(test_fragments_pass_by_rules_without_state_alone),
		cmocka_unit_test(test_tags_are_looked_behind),
		cmocka_unit_test(test_rules_that_cannot_be_had_are_refused),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
	test_env_stop();
	return failed;
}
