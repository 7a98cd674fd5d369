// Counts by time are those of a loop over all packets that knows from the start how long the trial
// is.

#include "count_test_env.h"
#include "time_counts.h"

#include <errno.h>

struct made {
	int64_t sent_ns, latency_ns;
	uint8_t direction;
	bool is_void;
};

// The step of a trial, by the words of analysis/blocks.py.
static int64_t step_of(int64_t span_ns)
{
	static const int64_t lengths[] = {1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000,
		500000, 1000000, 2000000, 5000000, 10000000, 20000000, 50000000, 100000000,
		200000000, 500000000, 1000000000};
	int64_t step_ns = lengths[0];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		if (20 * lengths[i] <= span_ns)
			step_ns = lengths[i];
	return step_ns;
}

static int64_t floor_to(int64_t ns, int64_t step_ns)
{
	int64_t start_ns = ns / step_ns * step_ns;

	return start_ns > ns ? start_ns - step_ns : start_ns;
}

// The leading bits, a bit at a time.
static int64_t leading(int64_t value, int n_bits)
{
	int64_t unit = 1;

	while ((value < 0 ? -value : value) / unit >= 1 << n_bits)
		unit *= 2;
	return floor_to(value, unit);
}

static bool is_same(const struct time_count_record *a, const struct time_count_record *b)
{
	return a->start_ns == b->start_ns && leading(a->value_ns, 11) == leading(b->value_ns, 11) &&
	       a->direction == b->direction && a->is_void == b->is_void;
}

enum { GIVEN_MOST = 1 << 12 };

struct given {
	struct time_count_record records[GIVEN_MOST];
	size_t n;
};

static int take(void *context, const struct time_count_record *records, size_t n)
{
	struct given *given = context;

	assert_true(given->n + n <= GIVEN_MOST);
	memcpy(&given->records[given->n], records, n * sizeof(*records));
	given->n += n;
	return 0;
}

// All that is like one record is counted, and its step has its greatest latency.
static void check_record(
	const struct made *made, size_t n, const struct given *given, size_t k, int64_t step_ns)
{
	int64_t most_made_ns = INT64_MIN;
	int64_t most_given_ns = INT64_MIN;
	uint64_t n_made = 0;
	uint64_t n_given = 0;

	for (size_t i = 0; i < n; i++) {
		const struct time_count_record own = {
			.start_ns = floor_to(made[i].sent_ns, step_ns),
			.value_ns = made[i].latency_ns,
			.direction = made[i].direction,
			.is_void = made[i].is_void,
		};
		n_made += is_same(&own, &given->records[k]);
		if (own.start_ns == given->records[k].start_ns && own.value_ns > most_made_ns)
			most_made_ns = own.value_ns;
	}
	for (size_t i = 0; i < given->n; i++) {
		const struct time_count_record *other = &given->records[i];
		n_given += is_same(other, &given->records[k]) ? other->n : 0;
		if (other->start_ns == given->records[k].start_ns &&
			other->value_ns > most_given_ns)
			most_given_ns = other->value_ns;
	}
	assert_int_equal(n_given, n_made);
	assert_int_equal(most_given_ns, leading(most_made_ns, 15));
}

static void check(const struct made *made, size_t n)
{
	static struct given given;
	struct time_counts *counts;
	int64_t first_ns = INT64_MAX;
	int64_t last_ns = INT64_MIN;
	uint64_t total = 0;

	given.n = 0;
	assert_int_equal(time_counts_create(take, &given, &counts), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(time_counts_add(counts, made[i].sent_ns, made[i].latency_ns,
					 made[i].direction, made[i].is_void),
			0);
		first_ns = made[i].sent_ns < first_ns ? made[i].sent_ns : first_ns;
		last_ns = made[i].sent_ns > last_ns ? made[i].sent_ns : last_ns;
	}
	assert_int_equal(time_counts_end(counts), 0);
	assert_int_equal(time_counts_span(counts).first_ns, first_ns);
	assert_int_equal(time_counts_span(counts).last_ns, last_ns);
	for (size_t k = 0; k < given.n; k++) {
		check_record(made, n, &given, k, step_of(last_ns - first_ns + 1));
		total += given.records[k].n;
	}
	assert_int_equal(total, n);
	time_counts_destroy(counts);
}

enum { N = 1500 };

static void check_random(int64_t first_ns, uint64_t gap_ns, uint64_t most_latency_ns)
{
	struct made made[N];
	uint64_t state = gap_ns;
	int64_t at_ns = first_ns;

	for (int i = 0; i < N; i++) {
		at_ns += (int64_t)random_below(&state, gap_ns);
		made[i].sent_ns = at_ns - (int64_t)random_below(&state, 3 * gap_ns);
		made[i].latency_ns = (int64_t)random_below(&state, most_latency_ns) - 40;
		made[i].direction = (uint8_t)random_below(&state, 2);
		made[i].is_void = random_below(&state, 9) == 0;
	}
	check(made, N);
}

static void test_trials_of_every_length(void **state)
{
	for (uint64_t gap_ns = 1; gap_ns < UINT64_C(1) << 31; gap_ns *= 3)
		check_random(-5000000, gap_ns, 50);
}

static void test_latencies_of_every_size(void **state)
{
	for (uint64_t most_ns = 1; most_ns < UINT64_C(1) << 31; most_ns *= 7)
		check_random(0, 100000, most_ns);
}

static void test_one_packet_is_a_trial(void **state)
{
	const struct made made[] = {{-1, -(INT64_C(1) << 40), 1, true}};

	check(made, 1);
}

static void test_nothing_has_no_span(void **state)
{
	struct time_counts *counts;

	assert_int_equal(time_counts_create(take, NULL, &counts), 0);
	assert_false(time_counts_span(counts).is_any);
	assert_int_equal(time_counts_end(counts), 0);
	assert_int_equal(time_counts_add(counts, INT64_MIN, 0, 0, false), -ERANGE);
	assert_int_equal(time_counts_add(counts, 0, INT64_C(1) << 53, 0, false), -ERANGE);
	time_counts_destroy(counts);
}

// The sums of what was given, and how much of it at a time.
struct sums {
	uint64_t n, by_second[100];
	size_t n_calls, most_at_once;
	int answer;
};

static int add_up(void *context, const struct time_count_record *records, size_t n)
{
	struct sums *sums = context;

	for (size_t i = 0; i < n; i++) {
		sums->n += records[i].n;
		sums->by_second[records[i].start_ns / 1000000000] += records[i].n;
	}
	sums->n_calls++;
	if (n > sums->most_at_once)
		sums->most_at_once = n;
	return sums->answer;
}

enum { LONG_S = 60, PACKETS_A_SECOND = 100000 };

// A minute of latencies that are nearly all distinct, some packets nine seconds late.
static int count_long(struct time_counts *counts)
{
	uint64_t state = 1;
	int err = 0;

	for (int64_t i = 0; err == 0 && i < LONG_S * PACKETS_A_SECOND; i++) {
		bool is_late = i % 20000 == 0 && i > 9 * PACKETS_A_SECOND;
		int64_t at = is_late ? i - 9 * PACKETS_A_SECOND : i;
		err = time_counts_add(counts, at * (1000000000 / PACKETS_A_SECOND),
			(int64_t)random_below(&state, UINT64_C(1) << 31), 0, false);
	}
	return err;
}

static void test_seconds_that_are_over_are_given_away(void **state)
{
	struct sums sums = {0};
	struct time_counts *counts;

	assert_int_equal(time_counts_create(add_up, &sums, &counts), 0);
	assert_int_equal(count_long(counts), 0);
	assert_true(sums.n_calls > 1);
	assert_int_equal(time_counts_end(counts), 0);
	assert_int_equal(sums.n, LONG_S * PACKETS_A_SECOND);
	for (int i = 0; i < LONG_S - 9; i++)
		assert_true(sums.by_second[i] >= PACKETS_A_SECOND - PACKETS_A_SECOND / 1000 &&
			    sums.by_second[i] <= PACKETS_A_SECOND + PACKETS_A_SECOND / 1000);
	assert_true(sums.most_at_once < 1 << 20);
	time_counts_destroy(counts);
}

static void test_who_takes_them_may_end_it(void **state)
{
	struct sums sums = {.answer = -ENOSPC};
	struct time_counts *counts;

	assert_int_equal(time_counts_create(add_up, &sums, &counts), 0);
	assert_int_equal(count_long(counts), -ENOSPC);
	time_counts_destroy(counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trials_of_every_length),
		cmocka_unit_test(test_latencies_of_every_size),
		cmocka_unit_test(test_one_packet_is_a_trial),
		cmocka_unit_test(test_nothing_has_no_span),
		cmocka_unit_test(test_seconds_that_are_over_are_given_away),
		cmocka_unit_test(test_who_takes_them_may_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
