#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "nf_test_env.h"

static void test_addresses_change_places_and_nothing_else_changes(void **state)
{
	static const unsigned char swapped[] = {7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6, 13, 14};
	struct rte_mbuf *pkts[3];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "mac_swap", NULL, 2), 0);
	test_burst(pkts, 3);
	for (uint16_t i = 0; i < 3; i++)
		for (unsigned char at = 0; at < 14; at++)
			rte_pktmbuf_mtod(pkts[i], unsigned char *)[at] = at + 1;

	assert_int_equal(nf.ops->process(nf.state, pkts, 3, 0), 3);

	for (uint16_t i = 0; i < 3; i++) {
		assert_memory_equal(rte_pktmbuf_mtod(pkts[i], void *), swapped, sizeof(swapped));
		assert_int_equal(test_number(pkts[i]), i);
	}
	rte_pktmbuf_free_bulk(pkts, 3);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_change_places_and_nothing_else_changes),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_env_stop();
	return failed;
}
