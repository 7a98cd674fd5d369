#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "nf_test_env.h"

// 10 us at 2.6 GHz.
enum { TEN_US_TICKS = 26000, NOW_TSC = 1000000 };

static void test_packets_leave_when_their_time_has_come(void **state)
{
	struct rte_mbuf *pkts[4], *out[8];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "delay", "time=10us", 2), 0);
	test_burst(pkts, 4);

	assert_int_equal(nf.ops->process(nf.state, pkts, 4, NOW_TSC), 0);

	assert_int_equal(nf.ops->release(nf.state, out, 8, NOW_TSC + TEN_US_TICKS / 2), 0);
	assert_int_equal(nf.ops->release(nf.state, out, 8, NOW_TSC + TEN_US_TICKS), 4);
	for (uint16_t i = 0; i < 4; i++)
		assert_int_equal(test_number(out[i]), i);
	rte_pktmbuf_free_bulk(out, 4);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_later_burst_waits_for_its_own_time(void **state)
{
	struct rte_mbuf *first[2], *second[2], *out[8];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "delay", "time=10us", 2), 0);
	test_burst(first, 2);
	test_burst(second, 2);

	nf.ops->process(nf.state, first, 2, NOW_TSC);
	nf.ops->process(nf.state, second, 2, NOW_TSC + 5000);

	assert_int_equal(nf.ops->release(nf.state, out, 8, NOW_TSC + TEN_US_TICKS), 2);
	assert_int_equal(nf.ops->release(nf.state, out + 2, 8, NOW_TSC + TEN_US_TICKS + 5000), 2);
	assert_ptr_equal(out[3], second[1]);
	rte_pktmbuf_free_bulk(out, 4);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_delay_of_nothing_goes_through_the_same_code(void **state)
{
	struct rte_mbuf *pkts[3], *out[8];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "delay", "time=0", 2), 0);
	test_burst(pkts, 3);

	assert_int_equal(nf.ops->process(nf.state, pkts, 3, NOW_TSC), 0);
	assert_int_equal(nf.ops->release(nf.state, out, 2, NOW_TSC), 2);
	assert_int_equal(nf.ops->release(nf.state, out + 2, 2, NOW_TSC), 1);

	rte_pktmbuf_free_bulk(out, 3);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_full_store_drops_the_newest_and_counts_them(void **state)
{
	struct rte_mbuf *pkts[24], *out[32];
	struct test_nf nf;

	// No power of two: it is the capacity all the same.
	assert_int_equal(test_nf_create(&nf, "delay", "time=10us,capacity=20", 2), 0);
	test_burst(pkts, 24);

	nf.ops->process(nf.state, pkts, 24, NOW_TSC);

	assert_int_equal(nf.ops->n_dropped(nf.state), 4);
	assert_int_equal(nf.ops->release(nf.state, out, 32, NOW_TSC + TEN_US_TICKS), 20);
	assert_int_equal(test_number(out[19]), 19);
	rte_pktmbuf_free_bulk(out, 20);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_store_is_used_again_after_it_was_full(void **state)
{
	struct rte_mbuf *pkts[16], *out[16];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "delay", "time=10us,capacity=16", 2), 0);
	for (int round = 0; round < 50; round++) {
		test_burst(pkts, 11);
		nf.ops->process(nf.state, pkts, 11, NOW_TSC);
		assert_int_equal(nf.ops->release(nf.state, out, 16, NOW_TSC + TEN_US_TICKS), 11);
		rte_pktmbuf_free_bulk(out, 11);
	}
	assert_int_equal(nf.ops->n_dropped(nf.state), 0);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_more_than_the_pool_can_spare_is_refused(void **state)
{
	struct test_nf nf;

	assert_true(test_nf_create(&nf, "delay", "capacity=65", 2) < 0);
	assert_string_equal(test_error.text,
		"delay: capacity 65 wanted, the receive pool can spare 64; "
		"change it, or --hold");
}

static void test_what_it_may_hold_is_known_before_the_start(void **state)
{
	const struct nf_ops *ops = nf_find("delay");
	const struct nf_env env = {.n_ports = 2, .hold_max = TEST_HOLD_MAX};
	static const char *const texts[] = {"capacity=65", "capacity=20"};
	uint64_t options[32], bytes[2] = {0};
	int err[2];

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(option_parse_list("delay", ops->options, ops->n_options, texts[i],
					 options, &test_error),
			0);
		err[i] = ops->memory(options, &env, &bytes[i], &test_error);
	}

	assert_string_equal(test_error.text,
		"delay: capacity 65 wanted, the receive pool can spare 64; "
		"change it, or --hold");
	assert_true(err[0] < 0);
	assert_int_equal(err[1], 0);
	assert_int_equal(bytes[1], 32 * 16); // 32 places
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_leave_when_their_time_has_come),
		cmocka_unit_test(test_later_burst_waits_for_its_own_time),
		cmocka_unit_test(test_delay_of_nothing_goes_through_the_same_code),
		cmocka_unit_test(test_full_store_drops_the_newest_and_counts_them),
		cmocka_unit_test(test_store_is_used_again_after_it_was_full),
		cmocka_unit_test(test_more_than_the_pool_can_spare_is_refused),
		cmocka_unit_test(test_what_it_may_hold_is_known_before_the_start),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_env_stop();
	return failed;
}
