#include "record_writer.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/record_writer_test.XXXXXX";
static const struct clock_point last = {.tsc = 7, .mono_raw_ns = 8, .width_ticks = 9};

static struct record_writer *create(size_t ring_bytes, uint64_t tsc_hz)
{
	struct record_writer_config config = {
		.path = path,
		.kind = RECORD_PACKET,
		.header = {.run_id = 42,
			.n_flows = 3,
			.nominal_tsc_hz = tsc_hz,
			.thread = "generator"},
		.ring_bytes = ring_bytes,
		.expected_per_second = 1e9,
		.core = -1,
	};
	struct record_writer *writer = NULL;

	assert_int_equal(record_writer_create(&config, &writer), 0);
	return writer;
}

static void fill(struct record_writer *writer, uint64_t seq)
{
	struct packet_record *record = record_writer_slot(writer);

	if (record != NULL)
		*record = (struct packet_record){.seq = seq};
}

static void put(struct record_writer *writer, uint64_t seq)
{
	fill(writer, seq);
	record_writer_publish(writer);
}

static void assert_file_counts_to(uint64_t n)
{
	FILE *file = fopen(path, "rb");
	struct record_file_header header;
	struct packet_record record;

	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	assert_memory_equal(header.magic, RECORD_MAGIC, 8);
	assert_int_equal(header.run_id, 42);
	assert_int_equal(header.record_size, sizeof(record));
	assert_int_equal(header.n_records, n);
	assert_int_equal(header.last.width_ticks, 9);
	for (uint64_t seq = 0; seq < n; seq++) {
		assert_int_equal(fread(&record, sizeof(record), 1, file), 1);
		assert_int_equal(record.seq, seq);
	}
	assert_int_equal(fread(&record, 1, 1, file), 0);
	fclose(file);
}

static void test_a_short_run_is_written_at_the_end(void **state)
{
	struct record_writer *writer = create(1 << 20, 0);
	uint64_t n_written = 0;

	for (uint64_t seq = 0; seq < 100; seq++)
		put(writer, seq);

	assert_int_equal(record_writer_close(writer, &last, &n_written, NULL), 0);
	assert_int_equal(n_written, 100);
	assert_file_counts_to(100);
}

static void test_a_file_takes_as_many_as_it_is_to_have_and_the_rest_is_counted(void **state)
{
	struct record_writer_config config = {
		.path = path,
		.kind = RECORD_PACKET,
		.header = {.run_id = 42},
		.ring_bytes = 1 << 20,
		.core = -1,
		.most = 10,
	};
	struct record_writer *writer = NULL;
	uint64_t n_written = 0, n_lost = 1;

	assert_int_equal(record_writer_create(&config, &writer), 0);
	for (uint64_t seq = 0; seq < 13; seq++)
		put(writer, seq);
	assert_int_equal(writer->n_beyond, 3);
	assert_int_equal(record_writer_stalls(writer), 0);

	assert_int_equal(record_writer_close(writer, &last, &n_written, &n_lost), 0);
	assert_int_equal(n_written, 10);
	assert_int_equal(n_lost, 0);
	assert_file_counts_to(10);
}

static void test_few_records_are_in_the_file_soon_where_that_is_wanted(void **state)
{
	struct record_writer_config config = {
		.path = path,
		.kind = RECORD_PACKET,
		.header = {.run_id = 42},
		.ring_bytes = 1 << 20,
		.core = -1,
		.within_ms = 20,
	};
	const struct timespec pause = {.tv_nsec = 1000000};
	struct record_writer *writer = NULL;
	struct stat found = {0};

	assert_int_equal(record_writer_create(&config, &writer), 0);
	put(writer, 0);
	while (found.st_size <
		(off_t)(sizeof(struct record_file_header) + sizeof(struct packet_record))) {
		nanosleep(&pause, NULL);
		assert_int_equal(stat(path, &found), 0);
	}
	assert_int_equal(record_writer_close(writer, &last, NULL, NULL), 0);
	assert_file_counts_to(1);
}

static void stream(struct record_writer *writer)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t n_lost = 1;

	for (uint64_t seq = 0; seq < 20000; seq++) {
		while (!record_writer_has_room(writer))
			nanosleep(&pause, NULL);
		put(writer, seq);
	}

	assert_int_equal(record_writer_close(writer, &last, NULL, &n_lost), 0);
	assert_int_equal(n_lost, 0);
	assert_file_counts_to(20000);
}

static void test_records_stream_through_a_ring_smaller_than_the_run(void **state)
{
	stream(create(1 << 16, 0));
}

static void test_records_are_whole_when_the_writer_rests_after_every_write(void **state)
{
	// A clock that slow makes a piece of work some ticks.
	stream(create(1 << 16, 1000000));
}

static long file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (long)st.st_size;
}

static void test_less_than_half_a_ring_is_written_when_the_run_is_slower_than_announced(
	void **state)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct record_writer_config config = {
		.path = path,
		.kind = RECORD_PACKET,
		.ring_bytes = 1024 * sizeof(struct packet_record),
		.expected_per_second = 10240, // half full after 50 ms
		.core = -1,
	};
	struct record_writer *writer;

	assert_int_equal(record_writer_create(&config, &writer), 0);
	// All at once: of what comes while the writer wakes, less than a quarter would stay.
	for (uint64_t seq = 0; seq < 300; seq++)
		fill(writer, seq);
	record_writer_publish(writer);
	long whole = (long)(sizeof(config.header) + 300 * sizeof(struct packet_record));
	for (int i = 0; i < 60000 && file_size() < whole; i++)
		nanosleep(&pause, NULL);

	assert_int_equal(file_size(), whole);
	assert_int_equal(record_writer_close(writer, &last, NULL, NULL), 0);
}

static void test_a_rate_never_seen_before_finds_the_writer_awake(void **state)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	struct record_writer_config config = {
		.path = path,
		.kind = RECORD_PACKET,
		.header = {.run_id = 42},
		.ring_bytes = 1024 * sizeof(struct packet_record),
		.core = -1,
	};
	struct record_writer *writer;
	const long whole = (long)(sizeof(config.header) + 769 * sizeof(struct packet_record));
	uint64_t n_lost = 1, seq = 0;

	assert_int_equal(record_writer_create(&config, &writer), 0);
	// One in 10 ms: half of the ring would take five seconds.
	put(writer, seq++);
	nanosleep(&pause, NULL);
	while (seq < 769)
		put(writer, seq++);
	for (int i = 0; i < 1200 && file_size() < whole; i++)
		nanosleep(&pause, NULL);
	while (seq < 769 + 768)
		put(writer, seq++);

	assert_int_equal(record_writer_close(writer, &last, NULL, &n_lost), 0);
	assert_int_equal(n_lost, 0);
	assert_file_counts_to(seq);
}

static void test_a_full_ring_loses_records_and_counts_them(void **state)
{
	struct record_writer_config config = {
		.path = path, .kind = RECORD_PACKET, .ring_bytes = 4096, .core = -1};
	struct record_writer *writer;
	uint64_t n_written, n_lost;

	// One record a day expected: the writer sleeps.
	config.expected_per_second = 1e-5;
	assert_int_equal(record_writer_create(&config, &writer), 0);
	for (uint64_t seq = 0; seq < 100; seq++)
		put(writer, seq);

	assert_int_equal(record_writer_stalls(writer), 1);
	record_writer_make_room(writer);
	for (uint64_t seq = 0; seq < 100; seq++)
		put(writer, seq);

	assert_int_equal(record_writer_stalls(writer), 2);
	assert_int_equal(record_writer_close(writer, &last, &n_written, &n_lost), 0);
	assert_int_equal(n_written, 2 * 64); // 4096 / 48, down to a power of two
	assert_int_equal(n_lost, 2 * 36);
}

static void test_a_failed_write_is_reported_to_the_measuring_thread(void **state)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct rlimit old, small = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
	struct record_writer *writer;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	writer = create(1 << 16, 0);
	for (uint64_t seq = 0; seq < 1024; seq++)
		put(writer, seq);
	for (int i = 0; i < 60000 && record_writer_error(writer) == 0; i++)
		nanosleep(&pause, NULL);

	assert_int_equal(record_writer_error(writer), -EFBIG);
	assert_int_equal(record_writer_close(writer, &last, NULL, NULL), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
}

static void test_a_path_that_cannot_be_created_is_an_error(void **state)
{
	struct record_writer_config config = {
		.path = "/nonexistent/packets.bin", .kind = RECORD_PACKET, .ring_bytes = 4096};
	struct record_writer *writer = NULL;

	assert_int_equal(record_writer_create(&config, &writer), -ENOENT);
	assert_null(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_short_run_is_written_at_the_end),
		cmocka_unit_test(test_few_records_are_in_the_file_soon_where_that_is_wanted),
		cmocka_unit_test(
			test_a_file_takes_as_many_as_it_is_to_have_and_the_rest_is_counted),
		cmocka_unit_test(test_records_stream_through_a_ring_smaller_than_the_run),
		cmocka_unit_test(test_records_are_whole_when_the_writer_rests_after_every_write),
		cmocka_unit_test(
			test_less_than_half_a_ring_is_written_when_the_run_is_slower_than_announced),
		cmocka_unit_test(test_a_rate_never_seen_before_finds_the_writer_awake),
		cmocka_unit_test(test_a_full_ring_loses_records_and_counts_them),
		cmocka_unit_test(test_a_failed_write_is_reported_to_the_measuring_thread),
		cmocka_unit_test(test_a_path_that_cannot_be_created_is_an_error),
	};
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return n_failed;
}
