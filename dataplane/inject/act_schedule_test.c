#include "act_schedule.h"
#include "error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct act_rate rate_of(const char *text)
{
	struct act_rate rate = {0};
	struct error error = {0};

	assert_int_equal(act_rate_parse(text, &rate, &error), 0);
	return rate;
}

static void a_rate_is_read_exactly(void **state)
{
	const struct act_rate hundred = rate_of("100/s");
	const struct act_rate third = rate_of("0.333333/s");
	const struct act_rate most = rate_of("100000/s");

	assert_int_equal(act_rate_period_ns(&hundred), 10000000);
	assert_int_equal(act_rate_period_ns(&third), 3000003000);
	assert_int_equal(act_rate_period_ns(&most), 10000);
	assert_int_equal(act_rate_count(&hundred, UINT64_C(5000000000)), 501);
}

static void what_is_no_rate_is_refused_with_one_line(void **state)
{
	static const char *const texts[] = {"", "100", "/s", "0/s", "-1/s", "100/m", "1.2345678/s",
		"100001/s", "100000.1/s", "1e3/s", " 1/s", "99999999999999999999/s", "."};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct act_rate rate;
		struct error error = {0};
		assert_true(act_rate_parse(texts[i], &rate, &error) < 0);
		assert_non_null(strstr(error.text, "--rate"));
		assert_null(strchr(error.text, '\n'));
	}
}

static void acts_stay_near_their_places_and_in_order(void **state)
{
	const struct act_rate rate = rate_of("300/s");
	struct act_schedule schedule;
	uint64_t last_ns = 0;

	act_schedule_init(&schedule, &rate, 7);
	for (uint64_t i = 0; i < 30000; i++) {
		uint64_t due_ns = act_schedule_next(&schedule);
		uint64_t place_ns = i * UINT64_C(1000000000) / 300;
		assert_in_range(due_ns - place_ns, 3333333 / 4 - 1, 3 * 3333333 / 4 + 1);
		assert_true(i == 0 || due_ns > last_ns);
		last_ns = due_ns;
	}
	// 30,000 acts are 100 seconds, none missing and none beyond.
	assert_in_range(last_ns, UINT64_C(99995000000), UINT64_C(100000000000));
}

static void one_seed_gives_one_sequence(void **state)
{
	const struct act_rate rate = rate_of("100/s");
	struct act_schedule one, same, other;
	int n_differ = 0;

	act_schedule_init(&one, &rate, 1);
	act_schedule_init(&same, &rate, 1);
	act_schedule_init(&other, &rate, 2);
	for (int i = 0; i < 100; i++) {
		uint64_t due_ns = act_schedule_next(&one);
		assert_int_equal(due_ns, act_schedule_next(&same));
		n_differ += due_ns != act_schedule_next(&other);
	}
	assert_true(n_differ > 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_read_exactly),
		cmocka_unit_test(what_is_no_rate_is_refused_with_one_line),
		cmocka_unit_test(acts_stay_near_their_places_and_in_order),
		cmocka_unit_test(one_seed_gives_one_sequence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
