#include "pace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void count(void *context)
{
	++*(int *)context;
}

static void test_a_piece_that_is_over_is_followed_by_a_rest_and_the_next_piece(void **state)
{
	int n = 0;
	struct pace pace = {.piece_ticks = UINT64_MAX / 2, .rest = count, .context = &n};

	pace.end_tsc = clock_tsc();
	pace_step(&pace);
	pace_step(&pace);

	assert_int_equal(n, 1);
	assert_int_equal(pace.n_rests, 1);
}

static void test_a_piece_that_has_begun_goes_on(void **state)
{
	int n = 0;
	struct pace pace = {.piece_ticks = UINT64_MAX / 2, .rest = count, .context = &n};

	pace_begin(&pace);
	pace_step(&pace);

	assert_int_equal(n, 0);
}

static void test_who_has_no_pieces_or_no_pace_never_rests(void **state)
{
	int n = 0;
	struct pace pace = {.rest = count, .context = &n};

	pace_begin(&pace);
	pace_step(&pace);
	pace_step(NULL);

	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_piece_that_is_over_is_followed_by_a_rest_and_the_next_piece),
		cmocka_unit_test(test_a_piece_that_has_begun_goes_on),
		cmocka_unit_test(test_who_has_no_pieces_or_no_pace_never_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
