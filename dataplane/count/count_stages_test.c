// Every packet goes through both counts, however many batches there are, and the first thing that
// is wrong ends it.

#include "count_stages.h"
#include "count_test_env.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 40000, GAP_NS = 1000, LATENCY_NS = 700 };

static char path[] = "/tmp/taut-count-stages-XXXXXX";

static struct packet_record record_of(uint64_t i)
{
	return (struct packet_record){.seq = i,
		.due_tsc = 1 + i * GAP_NS,
		.sent_tsc = 1 + i * GAP_NS,
		.received_tsc = 1 + i * GAP_NS + LATENCY_NS};
}

// Count N packets, one of them another than it should be. Returns as count_stages_run.
static int run_with(
	uint64_t at, struct packet_record other, struct packet_counts *counts, struct error *error)
{
	const struct record_file_header header = {
		.magic = RECORD_MAGIC,
		.version = RECORD_VERSION,
		.kind = RECORD_PACKET,
		.record_size = sizeof(struct packet_record),
		.nominal_tsc_hz = 1000000000,
		.n_records = N,
	};
	struct packet_reader *reader;
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	for (uint64_t i = 0; i < N; i++) {
		struct packet_record record = i == at ? other : record_of(i);
		assert_int_equal(fwrite(&record, sizeof(record), 1, file), 1);
	}
	assert_int_equal(fclose(file), 0);
	assert_int_equal(packet_reader_open(path, &reader, error), 0);
	int err = count_stages_run(reader, counts, error);
	packet_reader_close(reader);
	return err;
}

static struct packet_counts *new_counts(void)
{
	const struct packet_counts_config config = {1, 1};
	struct packet_counts *counts;

	assert_int_equal(packet_counts_create(&config, &counts), 0);
	return counts;
}

static int check_value(void *context, const struct value_count *count)
{
	const struct value_count *expected = context;

	assert_int_equal(count->value, expected->value);
	assert_int_equal(count->n, expected->n);
	return 0;
}

static void test_each_batch_is_counted_both_ways(void **state)
{
	const struct {
		enum histogram_series series;
		struct value_count expected;
	} rows[] = {
		{SERIES_SERVICE, {LATENCY_NS, N}},
		{SERIES_INTENT, {LATENCY_NS, N}},
		{SERIES_INTER_DEPARTURE, {GAP_NS, N - 1}},
		{SERIES_INTER_ARRIVAL, {GAP_NS, N - 1}},
		{SERIES_IPDV, {0, N - 1}},
	};
	struct packet_counts *counts = new_counts();
	struct error error;

	assert_int_equal(run_with(0, record_of(0), counts, &error), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct value_count expected = rows[i].expected;
		assert_int_equal(value_counts_each(packet_counts_values(
							   counts, rows[i].series, 0, false, false),
					 check_value, &expected),
			0);
	}
	packet_counts_destroy(counts);
}

static void check_refused(uint64_t at, struct packet_record other, const char *words)
{
	struct packet_counts *counts = new_counts();
	struct error error;

	assert_int_equal(run_with(at, other, counts, &error), -ERANGE);
	assert_non_null(strstr(error.text, words));
	packet_counts_destroy(counts);
}

static void test_what_is_wrong_ends_it_in_either_stage(void **state)
{
	check_refused(N / 2, (struct packet_record){.seq = N / 2}, "neither due nor sent");
	check_refused(N / 2, record_of(1), "out of order");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_batch_is_counted_both_ways),
		cmocka_unit_test(test_what_is_wrong_ends_it_in_either_stage),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return n_failed;
}
