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

// The fifteen leading bits, a bit at a time.
static int64_t leading(int64_t value)
{
	int64_t unit = 1;

	while ((value < 0 ? -value : value) / unit >= 1 << 15)
		unit *= 2;
	return floor_to(value, unit);
}

static bool is_in(const struct made *made, const struct time_count_record *record, int64_t step_ns)
{
	return floor_to(made->sent_ns, step_ns) == record->start_ns &&
	       leading(made->latency_ns) == record->value_ns &&
	       made->direction == record->direction && made->is_void == record->is_void;
}

static void check(const struct made *made, size_t n)
{
	const struct time_count_record *records;
	struct time_counts *counts;
	int64_t first_ns = INT64_MAX;
	int64_t last_ns = INT64_MIN;
	uint64_t total = 0;

	assert_int_equal(time_counts_create(&counts), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(time_counts_add(counts, made[i].sent_ns, made[i].latency_ns,
					 made[i].direction, made[i].is_void),
			0);
		first_ns = made[i].sent_ns < first_ns ? made[i].sent_ns : first_ns;
		last_ns = made[i].sent_ns > last_ns ? made[i].sent_ns : last_ns;
	}
	size_t n_records = time_counts_end(counts, &records);
	assert_int_equal(time_counts_span(counts).first_ns, first_ns);
	assert_int_equal(time_counts_span(counts).last_ns, last_ns);
	for (size_t k = 0; k < n_records; k++) {
		uint64_t expected = 0;
		for (size_t i = 0; i < n; i++)
			expected += is_in(&made[i], &records[k], step_of(last_ns - first_ns + 1));
		assert_int_equal(records[k].n, expected);
		total += records[k].n;
		assert_true(k == 0 || records[k - 1].start_ns <= records[k].start_ns);
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
	const struct time_count_record *records;
	struct time_counts *counts;

	assert_int_equal(time_counts_create(&counts), 0);
	assert_false(time_counts_span(counts).is_any);
	assert_int_equal(time_counts_end(counts, &records), 0);
	assert_int_equal(time_counts_add(counts, INT64_MIN, 0, 0, false), -ERANGE);
	time_counts_destroy(counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trials_of_every_length),
		cmocka_unit_test(test_latencies_of_every_size),
		cmocka_unit_test(test_one_packet_is_a_trial),
		cmocka_unit_test(test_nothing_has_no_span),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
