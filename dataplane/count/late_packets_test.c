// What is noted is read back; of too many nothing is left.

#include "count_test_env.h"
#include "late_packets.h"
#include "packet_reader.h"

#include <stdio.h>
#include <unistd.h>

enum { N_MOST = 2 };

static char folder[] = "/tmp/taut-late-packets-XXXXXX";
static char path[sizeof(folder) + 16];

static const struct seq_packet packets[] = {
	{1, 0, 10, 60, 0},
	{2, 20, 30, 81, PACKET_VOID},
	{3, 40, 50, 200, PACKET_COLD},
	{4, NO_TIME, 70, NO_TIME, 0},
	{5, 80, 90, 1000, 0},
};

static void note(size_t n)
{
	struct late_packets *late;

	assert_int_equal(late_packets_create(folder, 50, N_MOST, &late), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(late_packets_add(late, 1, &packets[i]), 0);
	assert_int_equal(late_packets_close(late), 0);
}

static void test_late_and_lost_packets_are_noted(void **state)
{
	struct packet_reader *reader;
	struct packet_batch batch;
	struct error error;

	note(4);
	assert_int_equal(packet_reader_open(path, &reader, &error), 0);
	assert_int_equal(packet_reader_next(reader, &batch, &error), 0);
	assert_int_equal(batch.n, 2);
	assert_int_equal(batch.packets[0].seq, 2);
	assert_int_equal(batch.packets[0].due_ns, 20);
	assert_int_equal(batch.packets[0].sent_ns, 30);
	assert_int_equal(batch.packets[0].received_ns, 81);
	assert_int_equal(batch.packets[0].flags, PACKET_VOID);
	assert_int_equal(batch.packets[0].direction, 1);
	assert_int_equal(batch.packets[1].seq, 4);
	assert_int_equal(batch.packets[1].due_ns, NO_TIME);
	assert_int_equal(batch.packets[1].received_ns, NO_TIME);
	assert_int_equal(packet_reader_next(reader, &batch, &error), 0);
	assert_int_equal(batch.n, 0);
	packet_reader_close(reader);
}

static void test_of_too_many_none_are_left(void **state)
{
	note(5);
	assert_int_equal(access(path, F_OK), -1);
}

static int make_folder(void **state)
{
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/late.bin", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_and_lost_packets_are_noted),
		cmocka_unit_test(test_of_too_many_none_are_left),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
