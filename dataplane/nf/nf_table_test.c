// What every network function must do, whichever it is.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "nf_test_env.h"

enum { LONG_AFTER_TSC = TEST_TSC_HZ };

static void test_every_function_is_named_once_and_described(void **state)
{
	for (size_t i = 0; i < nf_table_size; i++) {
		const struct nf_ops *ops = nf_table[i];
		assert_true(strspn(ops->name, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
			    strlen(ops->name));
		assert_true(strlen(ops->summary) > 0);
		assert_ptr_equal(nf_find(ops->name), ops);
		assert_non_null(ops->process);
		// Who holds must say what it dropped, and free what it holds.
		assert_true((ops->release != NULL) == (ops->n_dropped != NULL));
		assert_true(ops->release == NULL || ops->fini != NULL);
	}
	assert_null(nf_find("no_such_function"));
}

// Take out everything that is held, in order.
static uint16_t release_all(const struct test_nf *nf, struct rte_mbuf **out, uint16_t room)
{
	uint16_t n = 0;

	if (nf->ops->release == NULL)
		return 0;
	while (n < room) {
		uint16_t got = nf->ops->release(nf->state, &out[n], 8, LONG_AFTER_TSC);
		assert_true(got <= 8);
		if (got == 0)
			break;
		n += got;
	}
	return n;
}

static void check_burst(const char *name, uint16_t n)
{
	struct rte_mbuf *pkts[TEST_HOLD_MAX], *held[TEST_HOLD_MAX];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, name, NULL, 2), 0);
	test_burst(pkts, n);
	uint16_t kept = nf.ops->process(nf.state, pkts, n, 1000);
	assert_true(kept <= n);
	uint16_t n_held = release_all(&nf, held, TEST_HOLD_MAX);
	uint16_t survivors = kept + n_held;
	assert_true(survivors <= n);
	for (uint16_t i = 1; i < kept; i++)
		assert_true(test_number(pkts[i - 1]) < test_number(pkts[i]));
	for (uint16_t i = 1; i < n_held; i++)
		assert_true(test_number(held[i - 1]) < test_number(held[i]));
	// What is neither kept nor held stands behind the kept, each packet once.
	rte_pktmbuf_free_bulk(pkts, nf.ops->release == NULL ? n : kept);
	rte_pktmbuf_free_bulk(held, n_held);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

static void test_survivors_stay_in_order_and_no_packet_is_lost(void **state)
{
	for (size_t i = 0; i < nf_table_size; i++)
		for (uint16_t n = 0; n <= 33; n++)
			check_burst(nf_table[i]->name, n);
}

static void test_what_is_held_at_the_end_is_freed(void **state)
{
	struct rte_mbuf *pkts[32];

	for (size_t i = 0; i < nf_table_size; i++) {
		struct test_nf nf;
		assert_int_equal(test_nf_create(&nf, nf_table[i]->name, NULL, 2), 0);
		test_burst(pkts, 32);
		uint16_t kept = nf.ops->process(nf.state, pkts, 32, 1000);
		rte_pktmbuf_free_bulk(pkts, nf.ops->release == NULL ? 32 : kept);
		test_nf_destroy(&nf);
		assert_nothing_leaked();
	}
}

static void test_unknown_option_is_refused_by_every_function(void **state)
{
	for (size_t i = 0; i < nf_table_size; i++) {
		struct test_nf nf;
		assert_true(test_nf_create(&nf, nf_table[i]->name, "no_such_option=1", 2) < 0);
		assert_non_null(strstr(test_error.text, "no_such_option"));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_function_is_named_once_and_described),
		cmocka_unit_test(test_survivors_stay_in_order_and_no_packet_is_lost),
		cmocka_unit_test(test_what_is_held_at_the_end_is_freed),
		cmocka_unit_test(test_unknown_option_is_refused_by_every_function),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_env_stop();
	return failed;
}
