#include "cpu_list.h"
#include "error.h"
#include "noise.h"
#include "report.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct error error;
static volatile int stop;

static struct noise_config quick(void)
{
	struct noise_config config = {
		.duration_ns = 20000000,
		.threshold_ns = 1000,
		.capacity = 1000,
		.stop = &stop,
	};

	stop = 0;
	assert_int_equal(cpu_list_allowed(&config.cores), 0);
	return config;
}

static void all_cores_poll_over_the_same_time(void **state)
{
	struct noise_config config = quick();
	struct noise noise;

	assert_int_equal(noise_open(&noise, &config, &error), 0);
	assert_int_equal(noise_run(&noise, &error), 0);

	assert_int_equal(noise.n_cores, CPU_COUNT(&config.cores));
	uint64_t end = noise.start_tsc + clock_ticks(config.duration_ns, noise.tsc_hz);
	for (size_t i = 0; i < noise.n_cores; i++) {
		const struct poll_gap *poll = &noise.cores[i].poll;
		assert_true(poll->first_tsc <= noise.start_tsc);
		assert_true(poll->last_tsc >= end);
		assert_true(histogram_total(poll->periods) > 0);
	}
	noise_close(&noise);
}

static void a_stop_ends_it_with_nothing_lost(void **state)
{
	struct noise_config config = quick();
	struct noise noise;

	config.duration_ns = UINT64_C(3600000000000);
	assert_int_equal(noise_open(&noise, &config, &error), 0);
	stop = 1;
	assert_int_equal(noise_run(&noise, &error), 0);

	// A core that came to poll after the start has polled once.
	for (size_t i = 0; i < noise.n_cores; i++) {
		const struct poll_gap *poll = &noise.cores[i].poll;
		assert_int_equal(histogram_total(poll->periods), poll->last_tsc > 0);
	}
	noise_close(&noise);
}

static void a_core_that_is_not_there_leaves_no_thread_behind(void **state)
{
	struct noise_config config = quick();
	struct noise noise;

	CPU_SET(1023, &config.cores);
	assert_int_equal(noise_open(&noise, &config, &error), 0);

	assert_int_equal(noise_run(&noise, &error), -EINVAL);

	assert_non_null(strstr(error.text, "core 1023"));
	noise_close(&noise);
}

static void files_hold_every_period(void **state)
{
	char folder[] = "/tmp/noise_test.XXXXXX";
	struct noise_config config = quick();
	struct noise noise;
	char command[64];

	assert_non_null(mkdtemp(folder));
	assert_int_equal(noise_open(&noise, &config, &error), 0);
	assert_int_equal(noise_run(&noise, &error), 0);

	assert_int_equal(report_write(&noise, folder, false), 0);

	for (size_t i = 0; i < noise.n_cores; i++) {
		struct record_file_header header;
		struct histogram_record record;
		char path[96];
		uint64_t n = 0;
		snprintf(path, sizeof(path), "%s/histogram_%d.bin", folder, noise.cores[i].core);
		FILE *file = fopen(path, "r");
		assert_non_null(file);
		assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
		assert_int_equal(header.kind, RECORD_HISTOGRAM);
		while (fread(&record, sizeof(record), 1, file) == 1)
			n += record.count;
		fclose(file);
		assert_int_equal(n, histogram_total(noise.cores[i].poll.periods));
	}
	noise_close(&noise);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
	struct noise_config config = quick();
	struct noise noise;

	assert_int_equal(noise_open(&noise, &config, &error), 0);

	assert_int_equal(report_write(&noise, "/nowhere/at/all", false), -ENOENT);

	noise_close(&noise);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_cores_poll_over_the_same_time),
		cmocka_unit_test(a_stop_ends_it_with_nothing_lost),
		cmocka_unit_test(a_core_that_is_not_there_leaves_no_thread_behind),
		cmocka_unit_test(files_hold_every_period),
		cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
