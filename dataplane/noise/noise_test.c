#include "cpu_list.h"
#include "error.h"
#include "noise.h"
#include "report.h"
#include "test_folder.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

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

// Reads what other threads write: that they have begun is all it needs to know.
static void *stop_when_all_have_polled(void *arg)
{
	const struct noise *noise = arg;
	const struct timespec moment = {.tv_nsec = 1000000};

	for (size_t i = 0; i < noise->n_cores; i++)
		while (histogram_total(noise->cores[i].poll.periods) < 1000)
			nanosleep(&moment, NULL);
	stop = 1;
	return NULL;
}

static void a_stop_ends_it_with_nothing_lost(void **state)
{
	struct noise_config config = quick();
	struct noise noise;
	pthread_t stopper;

	config.duration_ns = UINT64_C(3600000000000);
	assert_int_equal(noise_open(&noise, &config, &error), 0);
	assert_int_equal(pthread_create(&stopper, NULL, stop_when_all_have_polled, &noise), 0);
	assert_int_equal(noise_run(&noise, &error), 0);
	pthread_join(stopper, NULL);

	for (size_t i = 0; i < noise.n_cores; i++) {
		const struct poll_gap *poll = &noise.cores[i].poll;
		struct histogram_bucket bucket;
		size_t cursor = 0;
		uint64_t least = 0, most = 0;
		while (histogram_next(poll->periods, &cursor, &bucket)) {
			least += bucket.count * bucket.value;
			most += bucket.count * (bucket.value + bucket.width - 1);
		}
		assert_in_range(poll->last_tsc - poll->first_tsc, least, most);
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
	struct noise_config config = quick();
	struct noise noise;

	assert_int_equal(noise_open(&noise, &config, &error), 0);
	assert_int_equal(noise_run(&noise, &error), 0);

	assert_int_equal(report_write(&noise, test_folder, false), 0);

	for (size_t i = 0; i < noise.n_cores; i++) {
		struct record_file_header header;
		struct histogram_record record;
		char path[96];
		uint64_t n = 0;
		snprintf(path, sizeof(path), "%s/histogram_%d.bin", test_folder,
			noise.cores[i].core);
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

	return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
