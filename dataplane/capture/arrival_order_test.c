// Arrivals in any order come back as sorting all of them gives them, within the reach.

#include "arrival_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 3 * ARRIVAL_REACH + 77 };

static struct arrival given[N];
static size_t n_given;

static void take(void *context, const struct arrival *arrival)
{
	assert_true(n_given < N);
	given[n_given++] = *arrival;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

// What comes `jitter` places around where it belongs.
static void assert_sorted(uint32_t jitter)
{
	struct arrival_order order;
	uint32_t random = jitter;

	n_given = 0;
	assert_int_equal(arrival_order_init(&order, take, NULL), 0);
	for (uint64_t i = 0; i < N; i++) {
		int64_t place = (int64_t)i + (int64_t)(next_random(&random) % (jitter + 1));
		assert_int_equal(
			arrival_order_add(&order, (struct arrival){.ts_ns = place / 3 - 1000,
							  .ingress_pos = N - i,
							  .is_cold = i % 2}),
			0);
	}
	assert_int_equal(arrival_order_end(&order), 0);
	arrival_order_fini(&order);
	assert_int_equal(n_given, N);
	for (size_t i = 1; i < N; i++)
		assert_true(arrival_is_before(&given[i - 1], &given[i]));
	for (size_t i = 0; i < N; i++)
		assert_int_equal(given[i].is_cold, (N - given[i].ingress_pos) % 2);
}

static void test_any_disorder_within_reach_is_sorted(void **state)
{
	static const uint32_t jitters[] = {0, 3, 100, 5000, ARRIVAL_REACH / 2};

	for (size_t i = 0; i < sizeof(jitters) / sizeof(jitters[0]); i++)
		assert_sorted(jitters[i]);
}

// The last frame of all has the first time stamp: it comes when it comes, and nothing is lost.
static void test_what_is_beyond_reach_is_given_all_the_same(void **state)
{
	struct arrival_order order;

	n_given = 0;
	assert_int_equal(arrival_order_init(&order, take, NULL), 0);
	for (uint64_t i = 0; i < N; i++)
		arrival_order_add(&order,
			(struct arrival){.ts_ns = i + 1 < N ? (int64_t)i : -1, .ingress_pos = i});
	assert_int_equal(arrival_order_end(&order), 0);
	arrival_order_fini(&order);
	assert_int_equal(n_given, N);
	size_t n_back = 0;
	for (size_t i = 1; i < N; i++)
		n_back += arrival_is_before(&given[i], &given[i - 1]);
	assert_int_equal(n_back, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_disorder_within_reach_is_sorted),
		cmocka_unit_test(test_what_is_beyond_reach_is_given_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
