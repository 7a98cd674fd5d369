#include "probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_what_is_written_is_read(void **state)
{
	const struct probe written = {
		.seq = UINT64_C(0x123456789abc),
		.due_ticks = UINT64_C(0xfedcba987654),
		.run_id = 0xdeadbeef,
		.direction = 1,
	};
	struct probe_template template;
	struct probe read;
	uint8_t frame[64];

	probe_template_fill(&template, 64, 1);
	probe_write(frame, &template, &written, 63);

	assert_true(probe_read(frame, &read));
	assert_true(read.seq == written.seq);
	assert_true(read.due_ticks == written.due_ticks);
	assert_int_equal(read.run_id, written.run_id);
	assert_int_equal(read.direction, 1);
	assert_int_equal(probe_flow(frame), 63);
}

static void test_fields_lie_where_the_format_says(void **state)
{
	const struct probe probe = {.seq = 0x0201, .due_ticks = 0x04, .run_id = 0x03};
	struct probe_template template;
	uint8_t frame[64];

	probe_template_fill(&template, 64, 0);
	probe_write(frame, &template, &probe, 0);

	assert_int_equal(frame[42], 0x54);
	assert_int_equal(frame[43], 0x7a);
	assert_int_equal(frame[44], 0x03);
	assert_int_equal(frame[48], 0x01);
	assert_int_equal(frame[49], 0x02);
	assert_int_equal(frame[54], 0x04);
	assert_int_equal(frame[34] << 8 | frame[35], PROBE_FIRST_SOURCE_PORT);
}

static void test_headers_are_valid_ipv4_and_udp(void **state)
{
	struct probe_template template;
	uint32_t sum = 0;

	probe_template_fill(&template, 1518, 0);

	for (int i = 14; i < 34; i += 2)
		sum += (uint32_t) template.head[i] << 8 | template.head[i + 1];
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	assert_int_equal(template.head[16] << 8 | template.head[17], 1500);
	assert_int_equal(template.head[38] << 8 | template.head[39], 1480);
}

static void test_destinations_differ_and_headers_stay_valid(void **state)
{
	enum { N = 1 << 16 };
	static bool seen[PROBE_MAX_DESTINATIONS];
	const struct probe probe = {.seq = 1};
	struct probe_template template;
	uint8_t frame[64];

	probe_template_fill(&template, 64, 0);
	for (uint32_t number = 0; number < N; number++) {
		uint32_t sum = 0;
		probe_write(frame, &template, &probe, 0);
		probe_set_destination(frame, number);
		const uint8_t *to = frame + PROBE_DESTINATION_OFFSET;
		const uint32_t host = (uint32_t)to[1] << 16 | (uint32_t)to[2] << 8 | to[3];
		assert_int_equal(to[0], 10);
		assert_false(seen[host]);
		seen[host] = true;
		for (int i = 14; i < 34; i += 2)
			sum += (uint32_t)frame[i] << 8 | frame[i + 1];
		assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	}
}

static void test_a_frame_of_others_is_told_apart(void **state)
{
	uint8_t frame[64] = {0};
	struct probe probe;

	assert_false(probe_read(frame, &probe));
}

static void test_a_probe_is_due_at_the_last_time_it_can_mean_that_is_over(void **state)
{
	const uint64_t round = UINT64_C(1) << 48, epoch = 1000;
	const struct probe probe = {.due_ticks = 500};

	assert_int_equal(probe_due_tsc(&probe, epoch, epoch + 501), epoch + 500);
	assert_int_equal(probe_due_tsc(&probe, epoch, epoch + round + 501), epoch + round + 500);
	assert_int_equal(probe_due_tsc(&probe, epoch, epoch + round + 499), epoch + 500);
	// Of another run.
	assert_int_equal(probe_due_tsc(&probe, epoch, epoch + 499), epoch + 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_fields_lie_where_the_format_says),
		cmocka_unit_test(test_headers_are_valid_ipv4_and_udp),
		cmocka_unit_test(test_destinations_differ_and_headers_stay_valid),
		cmocka_unit_test(test_a_frame_of_others_is_told_apart),
		cmocka_unit_test(test_a_probe_is_due_at_the_last_time_it_can_mean_that_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
