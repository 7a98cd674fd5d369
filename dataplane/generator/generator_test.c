// What the command line asks for reaches what sends, measures and writes.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "generator.h"
#include "live.h"
#include "record_writer.h"
#include "test_folder.h"

static struct config config;
static struct generator generator;
static struct live live;

static int fixture_make(void **state)
{
	static const volatile int no_signal;
	static char *argv[] = {"generator_test", "--tx", "ring:test", "--rx", "ring:test", "--both",
		"--rate", "1kpps", "--schedule", "poisson", "--seed", "7", "--record", "tail",
		"--record-one-in", "50", "--record-void", "slow", "--record-most", "9",
		"--device-holds", "--out", test_folder, "--", "--no-huge"};
	struct error error = {0};

	if (test_folder_make(state) < 0)
		return -1;
	int err = config_parse(&config, sizeof(argv) / sizeof(argv[0]), argv, &error);
	config.ring_keeps = false; // a ring's does: as of a port of the kernel
	if (err == COMMAND_LINE_RUN)
		err = generator_open(&generator, &config, &live, &no_signal, &error);
	if (err != 0) {
		print_error("%s\n", error.text);
		(void)test_folder_remove(state);
	}
	return err;
}

static int fixture_remove(void **state)
{
	generator_close(&generator);
	return test_folder_remove(state);
}

static void test_gaps_and_records_end_with_the_most_that_is_asked_for(void **state)
{
	assert_int_equal(generator.loop.gaps.log.writer->most, 9);
	assert_int_equal(generator.loop.writer->most, 9);
}

static void test_the_gap_watch_knows_whether_a_full_ring_keeps_the_device_waiting(void **state)
{
	assert_false(generator.loop.gaps.keeps);
}

static void test_each_direction_is_measured_as_asked(void **state)
{
	for (int i = 0; i < 2; i++) {
		const struct measurement *measurement = &generator.measurements[i];
		assert_int_equal(measurement->direction, i);
		assert_true(measurement->device_holds);
		assert_int_equal(measurement->tail.lift, 49);
		assert_int_equal(measurement->odd_flags & PACKET_VOID, 0);
	}
}

static void test_each_direction_draws_its_own_numbers(void **state)
{
	struct departure there, back;
	int n_alike = 0;

	for (int i = 0; i < 100; i++) {
		traffic_next(generator.traffic[0], &there);
		traffic_next(generator.traffic[1], &back);
		n_alike += there.gap_ns == back.gap_ns;
	}
	assert_in_range(n_alike, 0, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps_and_records_end_with_the_most_that_is_asked_for),
		cmocka_unit_test(
			test_the_gap_watch_knows_whether_a_full_ring_keeps_the_device_waiting),
		cmocka_unit_test(test_each_direction_is_measured_as_asked),
		cmocka_unit_test(test_each_direction_draws_its_own_numbers),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
