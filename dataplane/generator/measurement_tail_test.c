// Which packets are recorded where the slowest are wanted: the moving threshold.

#include "measurement_test_env.h"

static void test_tail_keeps_about_the_slowest_hundredth_and_all_that_is_odd(void **state)
{
	enum { N = 100000 };
	struct measurement *m = start(RECORD_MODE_TAIL);
	static struct packet_record records[N];
	uint64_t n_slow = 0;

	for (uint64_t seq = 0; seq < N; seq++) {
		send(m, 1);
		if (seq != N - 1) // the last one is lost
			receive(m, seq, 1000 + seq * 7919 % 1000);
	}
	size_t n = finish(m, records, N);

	assert_in_range(n, N / 150, N / 50);
	assert_int_equal(records[n - 1].seq, N - 1);
	for (size_t i = n / 2; i < n - 1; i++)
		n_slow += records[i].received_tsc - records[i].sent_tsc > 1970;
	assert_true(n_slow > (n - n / 2) * 8 / 10);
}

static void test_a_tail_may_be_one_in_more_and_leave_out_what_is_only_void(void **state)
{
	enum { N = 2000000, ONE_IN = 5000 };
	struct measurement *m = start_with(RECORD_MODE_TAIL, ONE_IN, true);
	static struct packet_record records[N / 100];

	gap(1000, due_of(N)); // every packet is void
	for (uint64_t seq = 0; seq < N; seq++) {
		send(m, 1);
		receive(m, seq, 1000 + seq * 7919 % 1000);
	}
	assert_int_equal(m->counters.void_, N);
	size_t n = finish(m, records, N / 100);

	assert_in_range(n, N / ONE_IN / 2, 2 * N / ONE_IN);
}

// Each is back before the next one is sent.
static void pass(struct measurement *m, uint64_t latency)
{
	send(m, 1);
	receive(m, m->in_flight.next_seq - 1, latency);
}

static void pass_usual(struct measurement *m, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		pass(m, 1000 + m->in_flight.next_seq * 7919 % 1000);
}

// Those that waited in the device while it stood still, the oldest first.
static void pass_stall(struct measurement *m, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		pass(m, (n - i) * 1000);
}

static void test_soon_after_a_stall_a_shorter_one_is_recorded(void **state)
{
	enum { N_USUAL = 100000, N_STALL = 1000, N_BETWEEN = 5000, N_SHORT = 10 };
	struct measurement *m = start(RECORD_MODE_TAIL);
	static struct packet_record records[N_USUAL];

	pass_usual(m, N_USUAL);
	pass_stall(m, N_STALL);
	pass_usual(m, N_BETWEEN);
	for (int i = 0; i < N_SHORT; i++)
		pass(m, 20000);
	size_t n = finish(m, records, N_USUAL);

	assert_true(n > N_SHORT);
	for (size_t i = 1; i <= N_SHORT; i++)
		assert_int_equal(records[n - i].seq, N_USUAL + N_STALL + N_BETWEEN + N_SHORT - i);
}

static void test_stalls_that_come_often_leave_twice_as_many_records_at_most(void **state)
{
	enum { N = 1000000, N_STALL = 500, N_BETWEEN = 4500, N_OF_ONE_STALL = 1000 };
	struct packet_record records[1];

	ring_bytes = N / 5 * sizeof(records[0]); // all that would be too many, too
	struct measurement *m = start(RECORD_MODE_TAIL);
	while (m->in_flight.next_seq < N) {
		pass_stall(m, N_STALL);
		pass_usual(m, N_BETWEEN);
	}

	assert_in_range(finish(m, records, 1), N / 150, 2 * N / 100 + N_OF_ONE_STALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tail_keeps_about_the_slowest_hundredth_and_all_that_is_odd),
		cmocka_unit_test(test_a_tail_may_be_one_in_more_and_leave_out_what_is_only_void),
		cmocka_unit_test(test_soon_after_a_stall_a_shorter_one_is_recorded),
		cmocka_unit_test(test_stalls_that_come_often_leave_twice_as_many_records_at_most),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
