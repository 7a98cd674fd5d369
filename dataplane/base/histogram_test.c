#include "histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int create(void **state)
{
	*state = histogram_array_create(1);
	return *state == NULL;
}

static int destroy(void **state)
{
	histogram_array_destroy(*state, 1);
	return 0;
}

static void test_values_below_2_18_have_buckets_of_their_own(void **state)
{
	struct histogram *histogram = *state;
	struct histogram_bucket bucket;
	size_t cursor = 0;

	histogram_record(histogram, 0);
	histogram_record(histogram, 262143);
	histogram_record(histogram, 262143);

	assert_int_equal(histogram_next(histogram, &cursor, &bucket), 1);
	assert_int_equal(bucket.value, 0);
	assert_int_equal(bucket.count, 1);
	assert_int_equal(histogram_next(histogram, &cursor, &bucket), 1);
	assert_int_equal(bucket.value, 262143);
	assert_int_equal(bucket.width, 1);
	assert_int_equal(bucket.count, 2);
	assert_int_equal(histogram_next(histogram, &cursor, &bucket), 0);
}

static void test_every_bucket_holds_its_value_and_is_narrow(void **state)
{
	for (uint64_t value = 1; value < UINT64_C(1) << HISTOGRAM_MAX_BITS;
		value += value / 999 + 1) {
		struct histogram *histogram = *state;
		struct histogram_bucket bucket;
		size_t cursor = histogram_index(value);

		histogram->counts[cursor] = 1;
		assert_int_equal(histogram_next(histogram, &cursor, &bucket), 1);
		assert_true(bucket.value <= value && value < bucket.value + bucket.width);
		assert_true(bucket.width == 1 || bucket.width * 16384 <= value);
		histogram->counts[histogram_index(value)] = 0;
	}
}

static void test_buckets_follow_each_other_without_holes(void **state)
{
	struct histogram *histogram = *state;
	struct histogram_bucket bucket;
	uint64_t expected = 0;
	size_t cursor = 0;

	for (size_t i = 0; i < HISTOGRAM_N_BUCKETS; i++)
		histogram->counts[i] = 1;

	while (histogram_next(histogram, &cursor, &bucket)) {
		assert_int_equal(bucket.value, expected);
		expected = bucket.value + bucket.width;
	}
	assert_int_equal(expected, UINT64_C(1) << HISTOGRAM_MAX_BITS);
}

static void test_a_value_beyond_the_range_is_counted_in_the_last_bucket(void **state)
{
	struct histogram *histogram = *state;

	histogram_record(histogram, UINT64_MAX);

	assert_int_equal(histogram->counts[HISTOGRAM_N_BUCKETS - 1], 1);
	assert_int_equal(histogram_total(histogram), 1);
}

static void test_percentile_is_the_smallest_value_that_covers_the_share(void **state)
{
	struct histogram *histogram = *state;

	assert_int_equal(histogram_percentile(histogram, 0.5), 0);
	for (uint64_t value = 1; value <= 100; value++)
		histogram_record(histogram, value);

	assert_int_equal(histogram_percentile(histogram, 0.5), 50);
	assert_int_equal(histogram_percentile(histogram, 0.99), 99);
	assert_int_equal(histogram_percentile(histogram, 1.0), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_values_below_2_18_have_buckets_of_their_own, create, destroy),
		cmocka_unit_test_setup_teardown(
			test_every_bucket_holds_its_value_and_is_narrow, create, destroy),
		cmocka_unit_test_setup_teardown(
			test_buckets_follow_each_other_without_holes, create, destroy),
		cmocka_unit_test_setup_teardown(
			test_a_value_beyond_the_range_is_counted_in_the_last_bucket, create,
			destroy),
		cmocka_unit_test_setup_teardown(
			test_percentile_is_the_smallest_value_that_covers_the_share, create,
			destroy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
