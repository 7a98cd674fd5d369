// One scenario a rule of analysis/episode.py.

#include "count_test_env.h"
#include "episodes.h"
#include "packet_reader.h"

#include <errno.h>

enum { LATE_ABOVE_NS = 20000, GAP_NS = 1000 };

static const int64_t lost = -1, unsent = -2;

// A packet of a latency, or lost, or unsent.
static int add(struct episodes *episodes, uint8_t direction, uint64_t seq, int64_t latency_ns,
	uint16_t flags)
{
	int64_t due_ns = (int64_t)seq * GAP_NS;
	struct seq_packet packet = {seq, due_ns, due_ns + 1, NO_TIME, flags};

	if (latency_ns == unsent) {
		packet.sent_ns = NO_TIME;
		packet.flags |= PACKET_UNSENT;
	} else if (latency_ns != lost) {
		packet.received_ns = packet.sent_ns + latency_ns;
	}
	return episodes_add(episodes, direction, &packet);
}

static struct episodes *found_in(const int64_t *latencies_ns, size_t n)
{
	struct episodes *episodes;

	assert_int_equal(episodes_create(LATE_ABOVE_NS, &episodes), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(add(episodes, 0, i, latencies_ns[i], 0), 0);
	assert_int_equal(episodes_end(episodes), 0);
	return episodes;
}

#define FOUND_IN(...)                                                                              \
	found_in((const int64_t[]){__VA_ARGS__},                                                   \
		sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void test_late_lost_and_unsent_in_a_row_are_one(void **state)
{
	struct episodes *episodes = FOUND_IN(5, lost, 90000, unsent, 30000, 20000, 20001);
	const struct episode_totals *totals = episodes_totals(episodes);
	const struct episode *worst;

	assert_int_equal(totals->n, 2);
	assert_int_equal(totals->packets, 5);
	assert_int_equal(totals->lost, 1);
	assert_int_equal(totals->unsent, 1);
	assert_int_equal(totals->loss_bursts, 0);
	assert_int_equal(totals->deepest_ns, 90000);
	assert_int_equal(episodes_worst(episodes, &worst), 2);
	assert_int_equal(worst[0].first_seq, 1);
	assert_int_equal(worst[0].packets, 4);
	assert_int_equal(worst[0].late, 2);
	assert_int_equal(worst[0].due_ns, GAP_NS);
	assert_int_equal(worst[0].start_ns, GAP_NS + 1);
	assert_int_equal(worst[0].end_ns, 2 * GAP_NS + 1 + 90000);
	assert_int_equal(worst[0].duration_ns, GAP_NS + 90000);
	assert_int_equal(totals->longest_ns, worst[0].duration_ns);
	assert_int_equal(worst[1].first_seq, 6);
	episodes_destroy(episodes);
}

static void test_losses_alone_are_bursts(void **state)
{
	struct episodes *episodes = FOUND_IN(lost, 5, lost, lost, 5, unsent);
	const struct episode_totals *totals = episodes_totals(episodes);

	assert_int_equal(totals->n, 0);
	assert_int_equal(totals->loss_bursts, 2);
	assert_int_equal(totals->longest_loss_burst, 2);
	assert_int_equal(totals->longest_ns, 0);
	episodes_destroy(episodes);
}

static void test_directions_and_the_warm_up_are_apart(void **state)
{
	struct episodes *episodes;
	const struct episode *worst;

	assert_int_equal(episodes_create(LATE_ABOVE_NS, &episodes), 0);
	assert_int_equal(add(episodes, 0, 0, 50000, PACKET_COLD), 0);
	assert_int_equal(add(episodes, 0, 1, 50000, PACKET_VOID), 0);
	assert_int_equal(add(episodes, 1, 2, 50000, PACKET_VOID), 0);
	assert_int_equal(add(episodes, 0, 2, 50000, 0), 0);
	// What is between 2 and 4 is not known: it is no row.
	assert_int_equal(add(episodes, 0, 4, 50000, 0), 0);
	assert_int_equal(episodes_end(episodes), 0);

	assert_int_equal(episodes_totals(episodes)->n, 3);
	assert_int_equal(episodes_totals(episodes)->touched_by_void, 2);
	assert_int_equal(episodes_totals(episodes)->all_void, 1);
	assert_int_equal(episodes_worst(episodes, &worst), 3);
	assert_int_equal(worst[0].packets, 2);
	// Equally long: the first is listed first.
	assert_int_equal(worst[1].direction, 1);
	assert_int_equal(worst[2].first_seq, 4);
	episodes_destroy(episodes);
}

static void test_the_longest_are_listed_and_all_are_counted(void **state)
{
	struct episodes *episodes;
	const struct episode *worst;
	enum { N = 4 * EPISODES_WORST };

	assert_int_equal(episodes_create(LATE_ABOVE_NS, &episodes), 0);
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(add(episodes, 0, 2 * i, 30000 + (int64_t)(i * 77 % N) * 10, 0), 0);
	assert_int_equal(episodes_end(episodes), 0);

	assert_int_equal(episodes_totals(episodes)->n, N);
	assert_int_equal(episodes_worst(episodes, &worst), EPISODES_WORST);
	for (int i = 0; i < EPISODES_WORST; i++)
		assert_int_equal(worst[i].duration_ns, 30000 + (N - 1 - i) * 10);
	episodes_destroy(episodes);
}

static void test_a_latency_beyond_64_bits_is_out_of_range(void **state)
{
	struct seq_packet packet = {.sent_ns = INT64_MIN + 1, .received_ns = INT64_MAX};
	struct episodes *episodes;

	assert_int_equal(episodes_create(LATE_ABOVE_NS, &episodes), 0);
	assert_int_equal(episodes_add(episodes, 0, &packet), -ERANGE);
	episodes_destroy(episodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_lost_and_unsent_in_a_row_are_one),
		cmocka_unit_test(test_losses_alone_are_bursts),
		cmocka_unit_test(test_directions_and_the_warm_up_are_apart),
		cmocka_unit_test(test_the_longest_are_listed_and_all_are_counted),
		cmocka_unit_test(test_a_latency_beyond_64_bits_is_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
