// What becomes of matched frames whose time stamps were forged: their distances are the farthest
// there are, never the other way round.

#include "match_results.h"
#include "time_span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/taut-results-XXXXXX";

static void matched(
	struct match_results *results, uint64_t pos, int64_t sent_ns, int64_t received_ns)
{
	const struct match_result both[] = {
		{.is_ingress = false,
			.egress = {.pos = pos,
				.ingress_pos = pos,
				.ts_ns = received_ns,
				.ingress_ts_ns = sent_ns,
				.frame_len = 64,
				.class = MATCH_MATCHED}},
		{.is_ingress = true,
			.ingress = {.pos = pos,
				.ts_ns = sent_ns,
				.egress_ts_ns = received_ns,
				.frame_len = 64,
				.class = MATCH_MATCHED}},
	};

	match_results_take(results, both, 2);
}

struct found {
	struct exact_count counts[4];
	size_t n;
};

static int take(void *context, const struct exact_count *count)
{
	struct found *found = context;

	assert_true(found->n < 4);
	found->counts[found->n++] = *count;
	return 0;
}

static struct found counts_of(struct match_results *results, enum capture_series series)
{
	struct found found = {0};

	assert_int_equal(exact_counts_each(&results->series[0][series], take, &found), 0);
	return found;
}

static void test_the_ends_of_time_are_far_apart(void **state)
{
	struct match_results results;

	assert_int_equal(match_results_init(&results, folder, 0, true), 0);
	results.first_ingress_ns = INT64_MIN;
	results.first_egress_ns = INT64_MAX;
	matched(&results, 0, INT64_MIN, INT64_MAX);
	matched(&results, 1, INT64_MAX, INT64_MIN);

	struct found latency = counts_of(&results, CAPTURE_LATENCY);
	assert_int_equal(latency.n, 2);
	assert_true(latency.counts[0].value == -span_most_ns);
	assert_true(latency.counts[1].value == span_most_ns);
	struct found ipdv = counts_of(&results, CAPTURE_IPDV);
	assert_true(ipdv.n == 1 && ipdv.counts[0].value == -span_most_ns);
	struct found jitter = counts_of(&results, CAPTURE_JITTER);
	assert_true(jitter.n == 1 && jitter.counts[0].value == span_most_ns);
	struct found departure = counts_of(&results, CAPTURE_INTER_DEPARTURE);
	assert_true(departure.n == 1 && departure.counts[0].value == span_most_ns);
	assert_int_equal(arrival_order_end(&results.arrivals), 0);
	struct found arrival = counts_of(&results, CAPTURE_INTER_ARRIVAL);
	assert_true(arrival.n == 1 && arrival.counts[0].value == span_most_ns);
	match_results_fini(&results);
}

static void test_no_time_stamp_reads_as_never(void **state)
{
	const int64_t never_ns = -(INT64_C(1) << 62);
	struct match_results results;

	assert_int_equal(match_results_init(&results, folder, 0, true), 0);
	matched(&results, 0, never_ns, never_ns);

	assert_int_equal(results.n_records, 1);
	assert_int_not_equal(results.records[0].sent_tsc, 0);
	assert_int_not_equal(results.records[0].received_tsc, 0);
	match_results_fini(&results);
}

static void test_the_warm_up_ends_where_time_does_not_wrap(void **state)
{
	struct match_results results;

	assert_int_equal(match_results_init(&results, folder, 1000, false), 0);
	results.first_ingress_ns = results.first_egress_ns = INT64_MIN;
	matched(&results, 0, INT64_MIN + 999, 0);
	matched(&results, 1, INT64_MAX, 0);

	assert_int_equal(results.n_cold_matched, 1);
	match_results_fini(&results);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_ends_of_time_are_far_apart),
		cmocka_unit_test(test_no_time_stamp_reads_as_never),
		cmocka_unit_test(test_the_warm_up_ends_where_time_does_not_wrap),
	};

	if (mkdtemp(folder) == NULL)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
