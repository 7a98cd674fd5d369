// What a packet is to the tracker of connections, as Linux's nf_conntrack has it.

#include "firewall_packet.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "nf_test_env.h"

enum { ETHER_LEN = 14, IPV4_LEN = 20, IPV6_LEN = 40, UPPER_LEN = 8, ERROR_V6 = 1, GRE = 47 };

// The header of a packet between two stations, the other way when it is an answer.
static size_t write_ip(uint8_t *ip, bool is_ipv6, uint8_t protocol, bool is_answer, size_t len)
{
	memset(ip, 0, is_ipv6 ? IPV6_LEN : IPV4_LEN);
	if (is_ipv6) {
		ip[0] = 0x60;
		ip[5] = (uint8_t)len;
		ip[6] = protocol;
		ip[23] = is_answer ? 2 : 1;
		ip[39] = is_answer ? 1 : 2;
		return IPV6_LEN;
	}
	ip[0] = 0x45;
	ip[3] = (uint8_t)(IPV4_LEN + len);
	ip[9] = protocol;
	ip[15] = is_answer ? 2 : 1;
	ip[19] = is_answer ? 1 : 2;
	return IPV4_LEN;
}

static struct packet parsed(
	bool is_ipv6, uint8_t protocol, bool is_answer, const uint8_t *upper, size_t len)
{
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(test_pool);
	struct packet out;

	assert_non_null(pkt);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(
		pkt, (uint16_t)(ETHER_LEN + (is_ipv6 ? IPV6_LEN : IPV4_LEN) + len));
	memset(frame, 0, ETHER_LEN);
	frame[12] = is_ipv6 ? 0x86 : 0x08;
	frame[13] = is_ipv6 ? 0xdd : 0x00;
	pkt->port = 0;
	uint8_t *ip = frame + ETHER_LEN;
	memcpy(ip + write_ip(ip, is_ipv6, protocol, is_answer, len), upper, len);
	packet_parse(pkt, &out);
	rte_pktmbuf_free(pkt);
	assert_int_equal(out.kind, PACKET_IP);
	return out;
}

// What an ICMPv6 error is to the tracker that quotes a packet of that protocol.
static enum packet_track track_of_error_about(uint8_t protocol)
{
	uint8_t upper[UPPER_LEN + IPV6_LEN + UPPER_LEN] = {ERROR_V6};

	(void)write_ip(upper + UPPER_LEN, true, protocol, true, UPPER_LEN);
	return parsed(true, IPPROTO_ICMPV6, false, upper, sizeof(upper)).track;
}

static void test_where_ipv6_says_that_nothing_follows_nothing_is_tracked(void **state)
{
	static const uint8_t upper[UPPER_LEN];
	static const uint8_t behind_options[] = {IPPROTO_NONE, 0, 1, 4, 0, 0, 0, 0};
	struct packet packet = parsed(true, IPPROTO_NONE, false, upper, sizeof(upper));

	assert_int_equal(packet.track, TRACK_INVALID);
	assert_int_equal(packet.fields.protocol, IPPROTO_NONE);
	packet = parsed(true, IPPROTO_HOPOPTS, false, behind_options, sizeof(behind_options));
	assert_int_equal(packet.track, TRACK_INVALID);
	assert_int_equal(track_of_error_about(IPPROTO_NONE), TRACK_INVALID);

	// Another protocol is tracked, and to IPv4 this is one.
	assert_int_equal(parsed(true, GRE, false, upper, sizeof(upper)).track, TRACK_FLOW);
	assert_int_equal(track_of_error_about(GRE), TRACK_ERROR);
	assert_int_equal(
		parsed(false, IPPROTO_NONE, false, upper, sizeof(upper)).track, TRACK_FLOW);
}

static enum packet_track track_of_type(bool is_ipv6, uint8_t type)
{
	const uint8_t upper[UPPER_LEN] = {type};

	return parsed(is_ipv6, is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, false, upper, sizeof(upper))
		.track;
}

// Types of each: first to last.
static void assert_types(bool is_ipv6, uint8_t first, uint8_t last, enum packet_track wanted)
{
	for (unsigned int type = first; type <= last; type++)
		if (track_of_type(is_ipv6, (uint8_t)type) != wanted)
			fail_msg("IPv%d, type %u", is_ipv6 ? 6 : 4, type);
}

static void test_types_of_icmp_ask_answer_or_are_not_tracked(void **state)
{
	assert_types(true, 0, 127, TRACK_INVALID); // errors about nothing
	assert_types(true, 128, 128, TRACK_FLOW);
	assert_types(true, 129, 129, TRACK_ANSWER);
	assert_types(true, 130, 136, TRACK_NONE);
	assert_types(true, 137, 138, TRACK_INVALID);
	assert_types(true, 139, 139, TRACK_FLOW);
	assert_types(true, 140, 140, TRACK_ANSWER);
	assert_types(true, 141, 142, TRACK_INVALID);
	assert_types(true, 143, 143, TRACK_NONE);
	assert_types(true, 144, 255, TRACK_INVALID);

	assert_types(false, 0, 0, TRACK_ANSWER);
	assert_types(false, 1, 7, TRACK_INVALID);
	assert_types(false, 8, 8, TRACK_FLOW);
	assert_types(false, 9, 12, TRACK_INVALID);
	for (uint8_t type = 13; type <= 18; type += 2) {
		assert_types(false, type, type, TRACK_FLOW);
		assert_types(false, type + 1, type + 1, TRACK_ANSWER);
	}
	assert_types(false, 19, 255, TRACK_INVALID);
}

static void test_an_answer_of_icmp_has_the_code_of_its_request(void **state)
{
	static const struct {
		bool is_ipv6;
		uint8_t request, answer;
	} rows[] = {{false, 8, 0}, {false, 13, 14}, {true, 128, 129}, {true, 139, 140}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t protocol = rows[i].is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
		uint8_t upper[UPPER_LEN] = {rows[i].request, 1, 0, 0, 0, 9};
		struct packet asked = parsed(rows[i].is_ipv6, protocol, false, upper, UPPER_LEN);
		upper[0] = rows[i].answer;
		struct packet answer = parsed(rows[i].is_ipv6, protocol, true, upper, UPPER_LEN);
		assert_int_equal(answer.track, TRACK_ANSWER);
		assert_memory_equal(&answer.key, &asked.key, sizeof(asked.key));
		upper[1] = 7;
		answer = parsed(rows[i].is_ipv6, protocol, true, upper, UPPER_LEN);
		assert_memory_not_equal(&answer.key, &asked.key, sizeof(asked.key));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_ipv6_says_that_nothing_follows_nothing_is_tracked),
		cmocka_unit_test(test_types_of_icmp_ask_answer_or_are_not_tracked),
		cmocka_unit_test(test_an_answer_of_icmp_has_the_code_of_its_request),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_env_stop();
	return failed;
}
