// Packets come out in the order of their numbers, each once, however they were written.

#include "count_test_env.h"
#include "seq_order.h"

#include <errno.h>

enum { N = 100000 };

struct given {
	uint64_t n, last;
	uint64_t sum; // of what was sent along
	int64_t n_until_error; // give an error at this one
};

static int take(void *context, const struct seq_packet *packet)
{
	struct given *given = context;

	assert_true(given->n == 0 || packet->seq > given->last);
	assert_int_equal(packet->sent_ns, 3 * (int64_t)packet->seq);
	assert_int_equal(packet->due_ns, packet->sent_ns - 1);
	assert_int_equal(packet->received_ns, packet->sent_ns + 1);
	assert_int_equal(packet->flags, packet->seq % 7);
	given->last = packet->seq;
	given->sum += packet->seq;
	return ++given->n == (uint64_t)given->n_until_error ? -EIO : 0;
}

static int add(struct seq_order *order, uint64_t seq)
{
	int64_t sent_ns = 3 * (int64_t)seq;
	struct seq_packet packet = {seq, sent_ns - 1, sent_ns, sent_ns + 1, (uint16_t)(seq % 7)};

	return seq_order_add(order, &packet);
}

// Some packets of N are written up to `late` places after their turn.
static void check_shuffled(uint64_t late)
{
	uint64_t *seqs = calloc(N, sizeof(*seqs));
	uint64_t state = late;
	struct given given = {0};
	struct seq_order *order;

	for (uint64_t i = 0; i < N; i++)
		seqs[i] = i;
	for (uint64_t i = 0; i + late + 1 < N; i++) {
		if (random_below(&state, 10) > 0)
			continue;
		uint64_t to = random_below(&state, late + 1);
		uint64_t seq = seqs[i];
		memmove(&seqs[i], &seqs[i + 1], to * sizeof(*seqs));
		seqs[i + to] = seq;
	}
	assert_int_equal(seq_order_create(take, &given, &order), 0);
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(add(order, seqs[i]), 0);
	assert_int_equal(seq_order_end(order), 0);
	assert_int_equal(given.n, N);
	assert_int_equal(given.sum, (uint64_t)N * (N - 1) / 2);
	seq_order_destroy(order);
	free(seqs);
}

static void test_late_ones_get_their_turn(void **state)
{
	check_shuffled(0);
	check_shuffled(1);
	check_shuffled(500);
	check_shuffled(20000);
}

static void test_a_missing_number_holds_up_what_follows_until_it_is_skipped(void **state)
{
	struct given given = {0};
	struct seq_order *order;

	assert_int_equal(seq_order_create(take, &given, &order), 0);
	for (uint64_t seq = 1; seq < 10; seq++)
		assert_int_equal(add(order, seq), 0);
	assert_int_equal(given.n, 0);
	assert_int_equal(seq_order_skip(order, 0), 0);
	assert_int_equal(given.n, 9);
	assert_int_equal(seq_order_skip(order, 3), 0);
	assert_int_equal(add(order, 10), 0);
	assert_int_equal(given.n, 10);
	seq_order_destroy(order);
}

static void test_a_skipped_number_may_still_come(void **state)
{
	struct given given = {0};
	struct seq_order *order;

	assert_int_equal(seq_order_create(take, &given, &order), 0);
	assert_int_equal(seq_order_skip(order, 1), 0);
	assert_int_equal(add(order, 1), 0);
	assert_int_equal(add(order, 0), 0);
	assert_int_equal(given.n, 2);
	seq_order_destroy(order);
}

static void test_twice_or_too_late_is_out_of_range(void **state)
{
	struct given given = {0};
	struct seq_order *order;

	assert_int_equal(seq_order_create(take, &given, &order), 0);
	assert_int_equal(add(order, 0), 0);
	assert_int_equal(add(order, 0), -ERANGE);
	assert_int_equal(add(order, 5), 0);
	assert_int_equal(add(order, 5), -ERANGE);
	assert_int_equal(add(order, SEQ_ORDER_REACH + 1), 0);
	// Number 1 is no longer waited for, 2 is.
	assert_int_equal(add(order, 1), -ERANGE);
	assert_int_equal(add(order, 2), 0);
	assert_int_equal(add(order, UINT64_MAX), -ERANGE);
	assert_int_equal(add(order, INT64_MAX / 4), 0);
	assert_int_equal(seq_order_end(order), 0);
	assert_int_equal(given.n, 5);
	seq_order_destroy(order);
}

static void test_what_give_returns_ends_it(void **state)
{
	struct given given = {.n_until_error = 2};
	struct seq_order *order;

	assert_int_equal(seq_order_create(take, &given, &order), 0);
	assert_int_equal(add(order, 1), 0);
	assert_int_equal(add(order, 2), 0);
	assert_int_equal(add(order, 0), -EIO);
	assert_int_equal(given.n, 2);
	seq_order_destroy(order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_ones_get_their_turn),
		cmocka_unit_test(test_a_missing_number_holds_up_what_follows_until_it_is_skipped),
		cmocka_unit_test(test_a_skipped_number_may_still_come),
		cmocka_unit_test(test_twice_or_too_late_is_out_of_range),
		cmocka_unit_test(test_what_give_returns_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
