// The logarithm behind the exponential gaps, held to the error poisson.c states.

#include "poisson.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_logarithm_is_right_to_1e_8(void **state)
{
	static struct poisson poisson;
	const struct traffic_rate rate = {.packets = 1, .per_ns = 1000};
	struct prng prng;
	double worst = 0;

	poisson_init(&poisson, NULL, &rate, 1, NULL);
	prng_seed(&prng, 2);
	for (int i = 0; i < 3000000; i++) {
		// Shifts reach the rare small numbers, that is the long gaps.
		uint64_t u = prng_next(&prng) >> (i % 64) | 1;
		double ours = ldexp((double)minus_log2_q40(&poisson, u), -FRACTION_BITS);
		double error = fabs(ours - (64 - log2((double)u)));
		worst = error > worst ? error : worst;
	}
	assert_true(worst < 1.2e-8);
}

static void test_extreme_numbers_give_finite_gaps(void **state)
{
	static struct poisson poisson;
	const struct traffic_rate rate = {.packets = 1, .per_ns = 1000};

	poisson_init(&poisson, NULL, &rate, 1, NULL);

	assert_true(minus_log2_q40(&poisson, 1) == UINT64_C(64) << FRACTION_BITS);
	assert_in_range(minus_log2_q40(&poisson, UINT64_MAX), 0, 1 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logarithm_is_right_to_1e_8),
		cmocka_unit_test(test_extreme_numbers_give_finite_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
