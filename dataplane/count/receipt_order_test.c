// Receipts come out in the order of time, those of one time in the order of their numbers.

#include "count_test_env.h"
#include "receipt_order.h"

#include <errno.h>

enum { N = 5 * RECEIPT_ORDER_REACH + 77 };

struct given {
	struct receipt *receipts;
	size_t n;
};

static int take(void *context, const struct receipt *receipt)
{
	struct given *given = context;

	given->receipts[given->n++] = *receipt;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct receipt *x = a;
	const struct receipt *y = b;

	if (x->received_ns != y->received_ns)
		return x->received_ns < y->received_ns ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

// Times grow by 10 a packet, and each is later by up to spread.
static void check(uint64_t spread)
{
	struct receipt *made = calloc(N, sizeof(*made));
	struct given given = {.receipts = calloc(N, sizeof(*made))};
	uint64_t state = 1;
	struct receipt_order *order;

	assert_int_equal(receipt_order_create(take, &given, &order), 0);
	for (uint64_t i = 0; i < N; i++) {
		made[i].received_ns = (int64_t)(10 * i + random_below(&state, spread));
		made[i].seq = i;
		made[i].is_void = i % 3 == 0;
		made[i].is_cold = i % 5 == 0;
		assert_int_equal(receipt_order_add(order, &made[i]), 0);
	}
	assert_int_equal(receipt_order_end(order), 0);
	qsort(made, N, sizeof(*made), compare);
	assert_int_equal(given.n, N);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(given.receipts[i].seq, made[i].seq);
		assert_int_equal(given.receipts[i].received_ns, made[i].received_ns);
		assert_int_equal(given.receipts[i].is_void, made[i].is_void);
		assert_int_equal(given.receipts[i].is_cold, made[i].is_cold);
	}
	receipt_order_destroy(order);
	free(given.receipts);
	free(made);
}

static void test_any_order_within_reach(void **state)
{
	check(1);
	check(100);
	check(10 * RECEIPT_ORDER_REACH);
}

static void test_one_of_the_beginning_at_the_end_is_out_of_range(void **state)
{
	struct receipt *receipts = calloc(3 * RECEIPT_ORDER_REACH, sizeof(*receipts));
	struct given given = {.receipts = receipts};
	struct receipt first = {.received_ns = -1};
	struct receipt_order *order;

	assert_int_equal(receipt_order_create(take, &given, &order), 0);
	for (int i = 0; i < 2 * RECEIPT_ORDER_REACH; i++) {
		struct receipt receipt = {.received_ns = i, .seq = (uint64_t)i};
		assert_int_equal(receipt_order_add(order, &receipt), 0);
	}
	assert_int_equal(receipt_order_add(order, &first), 0);
	assert_int_equal(receipt_order_end(order), -ERANGE);
	receipt_order_destroy(order);
	free(receipts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order_within_reach),
		cmocka_unit_test(test_one_of_the_beginning_at_the_end_is_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
