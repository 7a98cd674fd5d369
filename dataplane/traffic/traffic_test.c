// The conformance test every schedule passes, and the rates and frame sizes they share.

#include "error.h"
#include "traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "grammar_test_env.h"

static struct error error;

static struct frame_mix mix_of(const char *text)
{
	struct frame_mix mix;

	assert_int_equal(frame_mix_parse(&mix, text, &error), 0);
	return mix;
}

static struct traffic *create(const char *schedule, const char *rate_text, uint64_t seed)
{
	struct frame_mix mix = mix_of("64");
	struct traffic_rate rate;
	struct traffic *traffic = NULL;

	assert_int_equal(traffic_rate_parse(rate_text, &mix, RATE_LAYER_L2, &rate, &error), 0);
	assert_int_equal(traffic_create(schedule, &rate, &mix, 3, seed, &traffic, &error), 0);
	return traffic;
}

static void test_one_seed_gives_one_schedule(void **state)
{
	for (size_t i = 0; traffic_table[i] != NULL; i++) {
		struct traffic *a = create(traffic_table[i]->name, "1Mpps", 7);
		struct traffic *b = create(traffic_table[i]->name, "1Mpps", 7);
		struct departure x, y;

		for (int n = 0; n < 100000; n++) {
			traffic_next(a, &x);
			traffic_next(b, &y);
			assert_int_equal(x.gap_ns, y.gap_ns);
			assert_int_equal(x.flow, n % 3);
			assert_int_equal(x.flow, y.flow);
			assert_int_equal(x.frame_len, 64);
		}
		traffic_destroy(a);
		traffic_destroy(b);
	}
}

static void test_random_schedules_differ_between_seeds(void **state)
{
	static const char *const names[] = {"jittered", "poisson"};

	for (size_t i = 0; i < 2; i++) {
		struct traffic *a = create(names[i], "1Mpps", 7);
		struct traffic *b = create(names[i], "1Mpps", 8);
		struct departure x, y;
		int n_equal = 0;

		for (int n = 0; n < 1000; n++) {
			traffic_next(a, &x);
			traffic_next(b, &y);
			n_equal += x.gap_ns == y.gap_ns;
		}
		assert_in_range(n_equal, 0, 100);
		traffic_destroy(a);
		traffic_destroy(b);
	}
}

// 13 Mpkt/s: 76.923... ns a packet. Whole nanoseconds alone would be wrong by 0.1 %.
static void test_the_long_run_rate_is_exact(void **state)
{
	for (size_t i = 0; traffic_table[i] != NULL; i++) {
		struct traffic *traffic = create(traffic_table[i]->name, "13Mpps", 1);
		// One second; a multiple of the default train of 32.
		const double tolerance =
			strcmp(traffic_table[i]->name, "poisson") == 0
				? 5 * sqrt(13e6) * 77 // five standard deviations of the sum
				: 40;
		struct departure departure;
		uint64_t sum_ns = 0;

		for (int n = 0; n < 13000000; n++) {
			traffic_next(traffic, &departure);
			sum_ns += departure.gap_ns;
		}
		assert_true(fabs((double)sum_ns - 1e9) <= tolerance);
		traffic_destroy(traffic);
	}
}

static void test_constant_sends_exactly_the_rate_in_a_second(void **state)
{
	struct traffic *traffic = create("constant", "3pps", 1);
	static const uint64_t expected[] = {333333333, 333333333, 333333334, 333333333};
	struct departure departure;

	for (size_t i = 0; i < 4; i++) {
		traffic_next(traffic, &departure);
		assert_int_equal(departure.gap_ns, expected[i]);
	}
	traffic_destroy(traffic);
}

static void test_jittered_stays_within_its_share_of_the_grid(void **state)
{
	struct traffic *traffic = create("jittered:percent=10", "1Mpps", 1);
	struct departure departure;
	uint64_t due_ns = 0, lowest = UINT64_MAX, highest = 0;

	for (uint64_t n = 1; n <= 100000; n++) {
		traffic_next(traffic, &departure);
		due_ns += departure.gap_ns;
		uint64_t offset = due_ns - n * 1000;
		lowest = offset < lowest ? offset : lowest;
		highest = offset > highest ? offset : highest;
	}
	assert_int_equal(lowest, 0);
	assert_int_equal(highest, 200);
	traffic_destroy(traffic);
}

static void test_poisson_gaps_are_exponential(void **state)
{
	enum { N = 1000000 };
	struct traffic *traffic = create("poisson", "100kpps", 1);
	struct departure departure;
	double sum = 0, squares = 0;
	int n_above_mean = 0, n_above_7_means = 0;

	for (int n = 0; n < N; n++) {
		traffic_next(traffic, &departure);
		sum += (double)departure.gap_ns;
		squares += (double)departure.gap_ns * (double)departure.gap_ns;
		n_above_mean += departure.gap_ns > 10000;
		n_above_7_means += departure.gap_ns > 70000;
	}
	double mean = sum / N;
	double deviation = sqrt(squares / N - mean * mean);
	assert_true(fabs(mean - 10000) < 50); // five standard errors
	assert_true(fabs(deviation - 10000) < 100);
	assert_true(fabs((double)n_above_mean / N - exp(-1)) < 0.0025);
	assert_true(fabs((double)n_above_7_means / N - exp(-7)) < 0.00016);
	traffic_destroy(traffic);
}

static void test_burst_sends_trains_and_keeps_the_mean(void **state)
{
	struct traffic *traffic = create("burst:size=4,gap=100ns", "1Mpps", 1);
	static const uint64_t expected[] = {3700, 100, 100, 100, 3700, 100, 100, 100, 3700};
	struct departure departure;

	for (size_t i = 0; i < 9; i++) {
		traffic_next(traffic, &departure);
		assert_int_equal(departure.gap_ns, expected[i]);
	}
	traffic_destroy(traffic);
}

static void test_a_train_is_due_at_once(void **state)
{
	static const char *const schedules[] = {"constant", "step", "burst:size=8192"};

	for (size_t i = 0; i < 3; i++) {
		struct traffic *traffic = create(schedules[i], "4kpps", 1);
		assert_int_equal(traffic_at_once(traffic), i < 2 ? 1 : 8192);
		traffic_destroy(traffic);
	}
}

static void test_step_sends_the_whole_rate_and_then_a_share_of_it(void **state)
{
	struct traffic *traffic = create("step:after=5us,percent=40", "1Mpps", 1);
	static const uint64_t expected[] = {1000, 1000, 1000, 1000, 2500, 2500, 2500};
	struct departure departure;

	for (size_t i = 0; i < 7; i++) {
		traffic_next(traffic, &departure);
		assert_int_equal(departure.gap_ns, expected[i]);
	}
	traffic_destroy(traffic);
}

// Rates with many digits have numerators that no schedule may multiply in 64 bits.
static void test_odd_rates_are_kept_in_trains_and_steps(void **state)
{
	static const struct {
		const char *schedule, *rate;
		uint64_t gap_ns;
	} cases[] = {
		{"burst:size=20000", "100000.000001pps", 199999999}, // less than 200 ms
		{"step:after=1ns,percent=40", "100000.000001bps", 12799999}, // of 64 bytes
	};
	struct departure departure;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct traffic *traffic = create(cases[i].schedule, cases[i].rate, 1);
		traffic_next(traffic, &departure);
		assert_int_equal(departure.gap_ns, cases[i].gap_ns);
		traffic_destroy(traffic);
	}
}

static void assert_refused(const char *schedule, const char *word)
{
	struct frame_mix mix = mix_of("64");
	struct traffic_rate rate = {.packets = 1, .per_ns = 1000};
	struct traffic *traffic = NULL;

	assert_true(traffic_create(schedule, &rate, &mix, 1, 1, &traffic, &error) < 0);
	assert_null(traffic);
	assert_non_null(strstr(error.text, word));
}

static void test_bad_schedules_are_refused_with_a_reason(void **state)
{
	assert_refused("sawtooth", "constant jittered poisson burst step");
	assert_refused("burst:size=4,gap=2us", "no pause");
	assert_refused("burst:size=17,gap=1152921504606846976ns", "no pause"); // 2^60
	assert_refused("burst:length=4", "length");
	assert_refused("jittered:percent=51", "percent");
	assert_refused("step:percent=101", "percent");
	assert_refused("step:after=0ns", "after");
}

enum { SECOND_NS = 1000000000 };

// Whether it fits what is measured from a second on, for so long; if not, what is said has the
// word.
static void assert_fits(
	const char *schedule, const char *rate_text, uint64_t measured_ns, const char *word)
{
	struct frame_mix mix = mix_of("64");
	struct traffic *traffic = create(schedule, rate_text, 1);
	struct traffic_rate rate;

	assert_int_equal(traffic_rate_parse(rate_text, &mix, RATE_LAYER_L2, &rate, &error), 0);
	int err = traffic_fits(traffic, &rate, SECOND_NS, SECOND_NS + measured_ns, &error);
	if (word == NULL)
		assert_int_equal(err, 0);
	else if (err != -EINVAL || strstr(error.text, word) == NULL)
		fail_msg("%s, %s: %d, %s", schedule, rate_text, err, error.text);
	traffic_destroy(traffic);
}

static void test_what_does_not_happen_in_what_is_measured_does_not_fit(void **state)
{
	assert_fits("constant", "1pps", SECOND_NS, NULL);
	assert_fits("constant", "1pps", SECOND_NS - 1, "no packet is due");
	assert_fits("poisson", "0.5pps", SECOND_NS, "no packet is due");
	assert_fits("step:after=1500ms", "1kpps", SECOND_NS, NULL);
	assert_fits("step", "1kpps", SECOND_NS, "falls after 60 s");
	assert_fits("step:after=1s", "1kpps", SECOND_NS, "and 1 to 2 s are");
	assert_fits("step:after=2s", "1kpps", SECOND_NS, "falls after");
	assert_fits("burst:size=333", "1kpps", SECOND_NS, NULL);
	assert_fits("burst:size=334", "1kpps", SECOND_NS, "less than 3 trains");
}

static void assert_rate(const char *text, const char *frame, enum rate_layer layer, double pps)
{
	struct frame_mix mix = mix_of(frame);
	struct traffic_rate rate;

	if (traffic_rate_parse(text, &mix, layer, &rate, &error) != 0)
		fail_msg("%s", error.text);
	assert_true(fabs(traffic_rate_pps(&rate) / pps - 1) < 1e-12);
}

static void test_rates_in_packets_and_in_bits(void **state)
{
	assert_rate("100kpps", "64", RATE_LAYER_L2, 100e3);
	assert_rate("1.25Mpps", "64", RATE_LAYER_L1, 1.25e6);
	assert_rate("0.5pps", "64", RATE_LAYER_L2, 0.5);
	assert_rate("512Mbps", "64", RATE_LAYER_L2, 1e6);
	assert_rate("10Gbps", "64", RATE_LAYER_L1, 1e10 / (84 * 8));
	assert_rate("100Gbps", "imix", RATE_LAYER_L1, 1e11 / 8 / (4246.0 / 12 + 20));
}

static void check_rate(const char *text, const char *meaning)
{
	struct frame_mix mix = mix_of("64");
	struct traffic_rate rate;

	if (meaning != NULL)
		assert_rate(text, "64", RATE_LAYER_L2, strtod(meaning, NULL));
	else if (traffic_rate_parse(text, &mix, RATE_LAYER_L2, &rate, &error) != -EINVAL)
		fail_msg("\"%s\" was accepted", text);
}

static void test_rates_are_those_of_the_grammar(void **state)
{
	grammar_cases("rate", check_rate);
}

static void test_imix_is_7_4_1_in_every_pass_and_in_changing_order(void **state)
{
	struct frame_mix mix = mix_of("imix");
	uint16_t before[12] = {0};
	int n_same = 0;

	frame_mix_seed(&mix, 1);
	for (int pass = 0; pass < 100; pass++) {
		int n_64 = 0, n_570 = 0, n_1518 = 0;
		uint16_t now[12];
		for (int i = 0; i < 12; i++) {
			now[i] = frame_mix_next(&mix);
			n_64 += now[i] == 64;
			n_570 += now[i] == 570;
			n_1518 += now[i] == 1518;
		}
		assert_int_equal(n_64, 7);
		assert_int_equal(n_570, 4);
		assert_int_equal(n_1518, 1);
		n_same += memcmp(now, before, sizeof(now)) == 0;
		memcpy(before, now, sizeof(now));
	}
	assert_in_range(n_same, 0, 2);
}

static void check_frame(const char *text, const char *meaning)
{
	struct frame_mix mix;
	char understood[16] = "imix";
	int err = frame_mix_parse(&mix, text, &error);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", text, err);
	if (meaning == NULL)
		return;
	if (mix.n == 1)
		snprintf(understood, sizeof(understood), "%u", mix.pattern[0]);
	assert_string_equal(understood, meaning);
}

static void test_frames_are_those_of_the_grammar(void **state)
{
	grammar_cases("frame", check_frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_seed_gives_one_schedule),
		cmocka_unit_test(test_random_schedules_differ_between_seeds),
		cmocka_unit_test(test_the_long_run_rate_is_exact),
		cmocka_unit_test(test_constant_sends_exactly_the_rate_in_a_second),
		cmocka_unit_test(test_jittered_stays_within_its_share_of_the_grid),
		cmocka_unit_test(test_poisson_gaps_are_exponential),
		cmocka_unit_test(test_burst_sends_trains_and_keeps_the_mean),
		cmocka_unit_test(test_a_train_is_due_at_once),
		cmocka_unit_test(test_step_sends_the_whole_rate_and_then_a_share_of_it),
		cmocka_unit_test(test_odd_rates_are_kept_in_trains_and_steps),
		cmocka_unit_test(test_bad_schedules_are_refused_with_a_reason),
		cmocka_unit_test(test_what_does_not_happen_in_what_is_measured_does_not_fit),
		cmocka_unit_test(test_rates_in_packets_and_in_bits),
		cmocka_unit_test(test_rates_are_those_of_the_grammar),
		cmocka_unit_test(test_imix_is_7_4_1_in_every_pass_and_in_changing_order),
		cmocka_unit_test(test_frames_are_those_of_the_grammar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
