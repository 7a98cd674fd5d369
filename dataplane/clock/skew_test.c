#include "skew.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// One core: both threads share one counter, so whatever is measured must hold zero.
static void one_core_has_no_skew_within_the_stated_uncertainty(void **state)
{
	struct skew skew;

	// Few rounds: each turn on one core costs a scheduler slice.
	assert_int_equal(skew_measure(0, 0, 20, &skew), 0);

	int64_t bound = skew.uncertainty_ticks + 1;
	assert_in_range(skew.skew_ticks + bound, 0, 2 * bound);
}

static void a_core_that_does_not_exist_is_refused(void **state)
{
	struct skew skew;

	assert_int_equal(skew_measure(0, 1023, 1, &skew), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_core_has_no_skew_within_the_stated_uncertainty),
		cmocka_unit_test(a_core_that_does_not_exist_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
