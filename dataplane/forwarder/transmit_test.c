// Every transmit policy over a ring port: what is sent is received.

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "forwarder_test_env.h"
#include "grammar_test_env.h"

struct fixture {
	struct egress egress[1];
	struct transmit transmit;
};

static struct fixture *set_up(const char *policy)
{
	struct fixture *fixture = rte_zmalloc(NULL, sizeof(struct fixture), RTE_CACHE_LINE_SIZE);

	assert_non_null(fixture);
	fixture->egress[0].port = test_port("ring:transmit");
	assert_int_equal(transmit_init(&fixture->transmit, policy, fixture->egress, 1, TEST_TSC_HZ,
				 &test_error),
		0);
	return fixture;
}

static void tear_down(struct fixture *fixture)
{
	transmit_fini(&fixture->transmit);
	port_close(fixture->egress[0].port);
	rte_free(fixture);
	assert_nothing_leaked();
}

static void transmit_packets(struct fixture *fixture, uint16_t n)
{
	struct rte_mbuf *pkts[BURST_MAX];

	test_packets(pkts, n);
	fixture->transmit.ops->send(&fixture->transmit, fixture->egress, pkts, n);
}

static uint16_t received(const struct fixture *fixture)
{
	return test_drain(fixture->egress[0].port, 0);
}

static void test_every_policy_is_named_and_described(void **state)
{
	for (size_t i = 0; i < transmit_table_size; i++) {
		const struct transmit_ops *ops = transmit_table[i];
		assert_true(strlen(ops->name) > 0 && strlen(ops->summary) > 0);
		assert_non_null(ops->send);
	}
}

static void test_every_policy_sends_or_holds_or_counts_every_packet(void **state)
{
	for (size_t i = 0; i < transmit_table_size; i++)
		for (uint16_t n = 1; n <= 40; n++) {
			struct fixture *fixture = set_up(transmit_table[i]->name);
			struct egress *egress = &fixture->egress[0];
			transmit_packets(fixture, n);
			assert_int_equal(received(fixture), egress->n_tx);
			assert_int_equal(egress->n_tx + egress->n_held + egress->n_refused, n);
			tear_down(fixture);
		}
}

static void test_eager_and_single_hold_nothing(void **state)
{
	const char *const policies[] = {"eager", "single"};

	for (size_t i = 0; i < 2; i++) {
		struct fixture *fixture = set_up(policies[i]);
		transmit_packets(fixture, 5);
		assert_int_equal(received(fixture), 5);
		assert_int_equal(fixture->egress[0].n_held, 0);
		assert_int_equal(fixture->transmit.ops->burst_max, i);
		assert_null(fixture->transmit.ops->drain);
		tear_down(fixture);
	}
}

static void test_buffered_waits_for_a_full_buffer(void **state)
{
	struct fixture *fixture = set_up("buffered:8,none");

	transmit_packets(fixture, 7);
	assert_int_equal(received(fixture), 0);
	fixture->transmit.ops->drain(&fixture->transmit, UINT64_MAX);
	assert_int_equal(received(fixture), 0);
	tear_down(fixture);

	fixture = set_up("buffered:8,none");
	transmit_packets(fixture, 20);
	assert_int_equal(received(fixture), 16);
	assert_int_equal(fixture->egress[0].n_held, 4);
	tear_down(fixture);
}

static void test_buffered_timer_sends_what_waits(void **state)
{
	struct fixture *fixture = set_up("buffered:32,100us");
	struct transmit *transmit = &fixture->transmit;
	uint64_t start_tsc = transmit->drained_tsc;

	assert_int_equal(transmit->drain_ticks, 100000);
	transmit_packets(fixture, 3);
	transmit->ops->drain(transmit, start_tsc + 100000);
	assert_int_equal(received(fixture), 0);

	transmit->ops->drain(transmit, start_tsc + 100001);

	assert_int_equal(received(fixture), 3);
	assert_int_equal(transmit->drained_tsc, start_tsc + 100001);
	tear_down(fixture);
}

static void test_what_the_port_refuses_is_freed_and_counted(void **state)
{
	struct fixture *fixture = set_up("eager");

	// The ring holds 1023.
	for (int i = 0; i < 40; i++)
		transmit_packets(fixture, 32);

	assert_int_equal(fixture->egress[0].n_tx, 1023);
	assert_int_equal(fixture->egress[0].n_refused, 40 * 32 - 1023);
	tear_down(fixture);
}

static void test_what_is_held_at_the_end_counts_as_refused(void **state)
{
	struct fixture *fixture = set_up("buffered");

	transmit_packets(fixture, 3);
	transmit_fini(&fixture->transmit);

	assert_int_equal(fixture->egress[0].n_refused, 3);
	tear_down(fixture);
}

static void check_policy(const char *text, const char *meaning)
{
	struct egress egress[1] = {0};
	struct transmit transmit;
	char held[64] = "nothing";
	int err = transmit_init(&transmit, text, egress, 1, TEST_TSC_HZ, &test_error);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", text, err);
	if (meaning == NULL)
		return;
	if (transmit.hold_max > 0 && transmit.drain_ns > 0)
		snprintf(held, sizeof(held), "%u %" PRIu64, transmit.hold_max, transmit.drain_ns);
	else if (transmit.hold_max > 0)
		snprintf(held, sizeof(held), "%u none", transmit.hold_max);
	assert_string_equal(held, meaning);
}

static void test_policies_are_those_of_the_grammar(void **state)
{
	grammar_cases("transmit", check_policy);
}

static void test_bad_policies_are_refused_in_one_line(void **state)
{
	static const char *const bad[][2] = {
		{"lazy", "--transmit lazy: no such policy"},
		{"buffered:0", "accepted are 1 to 256"},
		{"buffered:257,1us", "accepted are 1 to 256"},
		{"buffered:32,100", "a duration with its unit"},
		{"buffered:32,1us,7", "no such option"},
		{"eager:3", "no such option; it has none"},
	};
	struct egress egress[1] = {0};
	struct transmit transmit;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(
			transmit_init(&transmit, bad[i][0], egress, 1, TEST_TSC_HZ, &test_error),
			-EINVAL);
		if (strstr(test_error.text, bad[i][1]) == NULL)
			fail_msg("%s: %s", bad[i][0], test_error.text);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_policy_is_named_and_described),
		cmocka_unit_test(test_every_policy_sends_or_holds_or_counts_every_packet),
		cmocka_unit_test(test_eager_and_single_hold_nothing),
		cmocka_unit_test(test_buffered_waits_for_a_full_buffer),
		cmocka_unit_test(test_buffered_timer_sends_what_waits),
		cmocka_unit_test(test_what_the_port_refuses_is_freed_and_counted),
		cmocka_unit_test(test_what_is_held_at_the_end_counts_as_refused),
		cmocka_unit_test(test_policies_are_those_of_the_grammar),
		cmocka_unit_test(test_bad_policies_are_refused_in_one_line),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_env_stop();
	return failed;
}
