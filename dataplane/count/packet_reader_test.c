// Times are those of records/convert.py, and a damaged file is refused.

#include "count_test_env.h"
#include "packet_reader.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { EPOCH = 1000 };

static char path[] = "/tmp/taut-packet-reader-XXXXXX";

// 5 ns in 2 ticks.
static struct record_file_header header_of(uint64_t n_records)
{
	return (struct record_file_header){
		.magic = RECORD_MAGIC,
		.version = RECORD_VERSION,
		.kind = RECORD_PACKET,
		.record_size = sizeof(struct packet_record),
		.epoch_tsc = EPOCH,
		.nominal_tsc_hz = 1000000000,
		.first = {.tsc = 100, .mono_raw_ns = 500},
		.last = {.tsc = 300, .mono_raw_ns = 1000},
		.n_records = n_records,
	};
}

static int open_made(const struct record_file_header *header, const void *records, size_t len,
	struct packet_reader **out)
{
	struct error error;
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(header, sizeof(*header), 1, file), 1);
	assert_int_equal(fwrite(records, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	return packet_reader_open(path, out, &error);
}

static void test_ticks_are_rounded_to_the_nearest_halves_to_even(void **state)
{
	const struct packet_record records[] = {
		{.seq = 7,
			.due_tsc = EPOCH + 1,
			.sent_tsc = EPOCH + 3,
			.received_tsc = EPOCH - 1,
			.arrival_window = 5,
			.flags = PACKET_VOID,
			.direction = 1},
		{.sent_tsc = EPOCH + 4},
	};
	struct record_file_header header = header_of(2);
	struct packet_reader *reader;
	struct packet_batch batch;
	struct error error;

	assert_int_equal(open_made(&header, records, sizeof(records), &reader), 0);
	assert_int_equal(packet_reader_next(reader, &batch, &error), 0);
	assert_int_equal(batch.n, 2);
	assert_int_equal(batch.packets[0].seq, 7);
	assert_int_equal(batch.packets[0].due_ns, 2); // 2.5
	assert_int_equal(batch.packets[0].sent_ns, 8); // 7.5
	assert_int_equal(batch.packets[0].received_ns, -2); // -2.5
	assert_int_equal(batch.packets[0].arrival_window_ns, 12); // 12.5
	assert_int_equal(batch.packets[0].flags, PACKET_VOID);
	assert_int_equal(batch.packets[0].direction, 1);
	assert_int_equal(batch.packets[1].due_ns, NO_TIME);
	assert_int_equal(batch.packets[1].sent_ns, 10);
	assert_int_equal(packet_reader_next(reader, &batch, &error), 0);
	assert_int_equal(batch.n, 0);
	packet_reader_close(reader);
}

static void test_blocks_are_read_to_the_end_of_the_last_one(void **state)
{
	static struct packet_block blocks[2];
	struct record_file_header header = header_of(2);
	struct packet_reader *reader;
	struct packet_batch batch = {.n = 1};
	struct error error;
	uint64_t n = 0;

	header.kind = RECORD_PACKET_BLOCK;
	header.record_size = sizeof(blocks[0]);
	blocks[0].n = PACKET_BLOCK_SIZE;
	blocks[1].n = 3;
	for (uint64_t i = 0; i < 2 * PACKET_BLOCK_SIZE; i++) {
		blocks[i / PACKET_BLOCK_SIZE].seq[i % PACKET_BLOCK_SIZE] = i;
		blocks[i / PACKET_BLOCK_SIZE].sent_ns[i % PACKET_BLOCK_SIZE] = -(int64_t)i;
		blocks[i / PACKET_BLOCK_SIZE].received_ns[i % PACKET_BLOCK_SIZE] = NO_TIME;
	}
	assert_int_equal(open_made(&header, blocks, sizeof(blocks), &reader), 0);
	while (batch.n > 0) {
		assert_int_equal(packet_reader_next(reader, &batch, &error), 0);
		for (size_t i = 0; i < batch.n; i++, n++) {
			assert_int_equal(batch.packets[i].seq, n);
			assert_int_equal(batch.packets[i].sent_ns, -(int64_t)n);
			assert_int_equal(batch.packets[i].received_ns, NO_TIME);
		}
	}
	assert_int_equal(n, PACKET_BLOCK_SIZE + 3);
	packet_reader_close(reader);
}

static void test_a_block_of_more_packets_than_it_holds_is_refused(void **state)
{
	static struct packet_block block;
	struct record_file_header header = header_of(1);
	struct packet_reader *reader;
	struct packet_batch batch;
	struct error error;

	header.kind = RECORD_PACKET_BLOCK;
	header.record_size = sizeof(block);
	for (int i = 0; i < 2; i++) {
		block.n = i == 0 ? 0 : PACKET_BLOCK_SIZE + 1;
		assert_int_equal(open_made(&header, &block, sizeof(block), &reader), 0);
		assert_int_equal(packet_reader_next(reader, &batch, &error), -EINVAL);
		packet_reader_close(reader);
	}
}

static void test_a_writer_that_died_leaves_what_it_wrote(void **state)
{
	const struct packet_record records[3] = {{0}};
	struct record_file_header header = header_of(0);
	struct packet_reader *reader;
	struct packet_batch batch;
	struct error error;

	header.last = (struct clock_point){0};
	assert_int_equal(open_made(&header, records, sizeof(records) - 1, &reader), 0);
	assert_int_equal(packet_reader_next(reader, &batch, &error), 0);
	assert_int_equal(batch.n, 2);
	packet_reader_close(reader);
}

static void test_a_file_that_is_cut_short_is_refused(void **state)
{
	const struct packet_record records[3] = {{0}};
	struct record_file_header header = header_of(4);
	struct packet_reader *reader;
	struct packet_batch batch;
	struct error error;

	assert_int_equal(open_made(&header, records, sizeof(records), &reader), 0);
	assert_int_equal(packet_reader_next(reader, &batch, &error), -EINVAL);
	packet_reader_close(reader);
}

static void test_a_time_beyond_64_bits_is_refused(void **state)
{
	const struct packet_record record = {.sent_tsc = UINT64_C(1) << 62};
	struct record_file_header header = header_of(1);
	struct packet_reader *reader;
	struct packet_batch batch;
	struct error error;

	assert_int_equal(open_made(&header, &record, sizeof(record), &reader), 0);
	assert_int_equal(packet_reader_next(reader, &batch, &error), -ERANGE);
	packet_reader_close(reader);
}

static void test_other_files_are_refused(void **state)
{
	struct record_file_header headers[] = {
		header_of(0), header_of(0), header_of(0), header_of(0), header_of(0)};
	struct packet_reader *reader;

	headers[0].kind = RECORD_GAP;
	headers[1].version++;
	headers[2].magic[0] = 'X';
	headers[3].record_size++;
	// A tick of two milliseconds.
	headers[4].last.mono_raw_ns = 400000500;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		assert_int_equal(open_made(&headers[i], "", 0, &reader), -EINVAL);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_are_rounded_to_the_nearest_halves_to_even),
		cmocka_unit_test(test_blocks_are_read_to_the_end_of_the_last_one),
		cmocka_unit_test(test_a_block_of_more_packets_than_it_holds_is_refused),
		cmocka_unit_test(test_a_writer_that_died_leaves_what_it_wrote),
		cmocka_unit_test(test_a_file_that_is_cut_short_is_refused),
		cmocka_unit_test(test_a_time_beyond_64_bits_is_refused),
		cmocka_unit_test(test_other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
