#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "nf_test_env.h"

static void test_frames_of_either_port_leave_by_the_other(void **state)
{
	struct rte_mbuf *pkts[2];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "bridge", "a=0,b=2", 3), 0);
	test_burst(pkts, 2);
	pkts[1]->port = 2;

	assert_int_equal(nf.ops->process(nf.state, pkts, 2, 0), 2);

	assert_int_equal(nf_egress(pkts[0]), 2);
	assert_int_equal(nf_egress(pkts[1]), 0);
	rte_pktmbuf_free_bulk(pkts, 2);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_frames_of_a_third_port_are_dropped(void **state)
{
	struct rte_mbuf *pkts[3];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "bridge", "a=0,b=2", 3), 0);
	test_burst(pkts, 3);
	pkts[0]->port = 1;

	assert_int_equal(nf.ops->process(nf.state, pkts, 3, 0), 2);

	assert_int_equal(test_number(pkts[0]), 1);
	assert_int_equal(test_number(pkts[1]), 2);
	assert_int_equal(test_number(pkts[2]), 0);
	rte_pktmbuf_free_bulk(pkts, 3);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_ports_that_are_not_there_are_refused(void **state)
{
	static const char *const bad[] = {"b=2", "a=9", "a=1,b=1"};
	struct test_nf nf;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(test_nf_create(&nf, "bridge", bad[i], 2) < 0);
		assert_non_null(strstr(test_error.text, "ports 0 to 1"));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_of_either_port_leave_by_the_other),
		cmocka_unit_test(test_frames_of_a_third_port_are_dropped),
		cmocka_unit_test(test_ports_that_are_not_there_are_refused),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_env_stop();
	return failed;
}
