#include "error.h"
#include "late_packets.h"
#include "made_packets_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const uint64_t ms = 1000000, second = UINT64_C(1000000000);

struct env {
	struct made_packets made;
	struct late_config config;
	struct late_packets late;
	struct error error;
};

static void start(struct env *env, double share, uint64_t fixed_ns)
{
	made_packets_name(&env->made);
	env->config = (struct late_config){
		.path = env->made.path,
		.share = share,
		.fixed_ns = fixed_ns,
		.margin_ns = ms,
		.tsc_hz = MADE_HZ,
	};
	assert_int_equal(late_packets_open(&env->late, &env->config, second), 0);
}

static void stop(struct env *env)
{
	late_packets_close(&env->late);
	made_packets_remove(&env->made);
}

static void read_all(struct env *env)
{
	assert_int_equal(late_packets_read(&env->late, &env->error), 0);
}

// Everything of the first two seconds is kept: begin after them, with nothing asked for.
static uint64_t learn(struct env *env)
{
	uint64_t t = 2 * second;

	made_packets_open(&env->made);
	for (; t < 5 * second; t += ms)
		made_packet(&env->made, t, t + 1000 + t / ms % 100, 0);
	read_all(env);
	assert_int_equal(env->late.windows.items[0].from_tsc, 2 * second - ms);
	assert_in_range(env->late.windows.items[0].until_tsc, 4 * second, 4 * second + 1100);
	windows_drop(&env->late.windows, env->late.windows.n);
	return t;
}

static void a_late_packet_asks_for_its_surroundings(void **state)
{
	struct env env;

	start(&env, 0, 50000);
	uint64_t t = learn(&env);
	made_packet(&env.made, t, t + 50000, 0);
	made_packet(&env.made, t + 10 * ms, t + 15 * ms, 0);
	read_all(&env);

	assert_int_equal(env.late.n_late, 1);
	assert_int_equal(env.late.windows.n, 1);
	assert_int_equal(env.late.windows.items[0].from_tsc, t + 9 * ms);
	assert_int_equal(env.late.windows.items[0].until_tsc, t + 16 * ms);
	// What was lost meanwhile may still be told of.
	assert_int_equal(late_packets_passed(&env.late), t + 15 * ms - 5 * second - ms);
	stop(&env);
}

static void a_percentile_is_that_of_all_packets_so_far(void **state)
{
	struct env env;

	start(&env, 0.99, 0);
	uint64_t t = learn(&env);

	assert_int_equal(env.late.n_packets, 3000);
	assert_in_range(env.late.threshold_ticks, 1097, 1099);
	made_packet(&env.made, t, t + 1090, 0);
	made_packet(&env.made, t + 10 * ms, t + 10 * ms + 1110, 0);
	read_all(&env);
	assert_int_equal(env.late.windows.n, 1);
	assert_int_equal(env.late.windows.items[0].from_tsc, t + 9 * ms);
	stop(&env);
}

// After the first ones, each recorded, one packet in fifty is slow, and only those are recorded.
static void where_slow_packets_alone_are_recorded_it_is_that_of_all(void **state)
{
	enum { N_SLOW = 400, EACH = 50 };
	static const double shares[] = {0.99, 0.9};

	for (size_t i = 0; i < 2; i++) {
		struct env env;
		start(&env, shares[i], 0);
		uint64_t t = learn(&env), n_late = env.late.n_late;
		for (uint64_t n = 0; n < N_SLOW; n++, t += 10 * ms) {
			env.made.next_seq += EACH - 1;
			made_packet(&env.made, t, t + 10000 + n * 7 % N_SLOW * 10, 0);
		}
		read_all(&env);

		assert_int_equal(env.late.n_packets, 3000 + N_SLOW);
		assert_int_equal(env.late.n_all, 3000 + N_SLOW * EACH);
		// 230 of 23,000 are slower than p99; than p90 all slow ones.
		if (shares[i] == 0.99)
			assert_in_range(env.late.threshold_ticks, 11600, 11800);
		else
			assert_int_equal(env.late.n_late - n_late, N_SLOW);
		stop(&env);
	}
}

static void a_percentile_that_moves_both_ways_is_that_of_the_whole_histogram(void **state)
{
	struct env env;
	uint64_t t = 2 * second, random = 1;

	start(&env, 0.9, 0);
	made_packets_open(&env.made);
	for (int round = 0; round < 8; round++) {
		// Fast and slow packets by turns; the last ones beyond the exact buckets.
		uint64_t least = round % 2 == 0 ? 100 : UINT64_C(1000) << 2 * round;
		for (int i = 0; i < 500; i++, t += ms) {
			random = random * 6364136223846793005 + 1442695040888963407;
			made_packet(&env.made, t, t + least + (random >> 33) % 5000, 0);
		}
		// Looked up with the next packet, whatever came since.
		env.late.n_next = env.late.n_packets + 500;
		read_all(&env);

		assert_int_equal(
			env.late.threshold_ticks, histogram_percentile(env.late.latencies, 0.9));
	}
	stop(&env);
}

static void a_percentile_is_believed_when_there_are_enough_packets_above_it(void **state)
{
	struct env env;

	// Ten above p99.9 are ten thousand in all: of three thousand each is kept.
	start(&env, 0.999, 0);
	uint64_t t = 2 * second;
	made_packets_open(&env.made);
	for (int i = 0; i < 3000; i++, t += 3 * ms)
		made_packet(&env.made, t, t + 1000, 0);
	read_all(&env);

	assert_int_equal(env.late.windows.n, 3000);
	stop(&env);
}

static void what_never_came_is_asked_for_and_the_warm_up_is_not(void **state)
{
	struct env env;

	start(&env, 0, 50000);
	uint64_t t = learn(&env);
	made_packet(&env.made, t, 0, 0);
	made_packet(&env.made, t + 10 * ms, t + 20 * ms, PACKET_COLD);
	made_packet(&env.made, t + 30 * ms, 0, PACKET_COLD);
	made_packet(&env.made, t + 40 * ms, t + 50 * ms, PACKET_DUPLICATE);
	read_all(&env);

	assert_int_equal(env.late.n_lost, 1);
	assert_int_equal(env.late.windows.n, 1);
	assert_int_equal(env.late.windows.items[0].from_tsc, t - ms);
	assert_int_equal(env.late.windows.items[0].until_tsc, t + ms);
	stop(&env);
}

static void a_generator_that_waits_longer_for_a_packet_is_waited_for(void **state)
{
	struct env env;

	start(&env, 0, 50000);
	uint64_t t = learn(&env);
	uint64_t lost = t;
	for (; t < 15 * second; t += ms)
		made_packet(&env.made, t, t + 1000, 0);
	read_all(&env);
	env.late.decided_tsc = late_packets_passed(&env.late);
	made_packet(&env.made, lost, 0, 0);
	read_all(&env);

	assert_int_equal(env.late.n_told_late, 1);
	assert_int_equal(env.late.windows.n, 0);
	assert_true(late_packets_passed(&env.late) + 10 * second < t);
	stop(&env);
}

static void half_a_record_is_read_when_it_is_whole(void **state)
{
	struct env env;

	start(&env, 0, 50000);
	uint64_t t = learn(&env);
	const struct packet_record record = {.sent_tsc = t, .received_tsc = t + ms};
	assert_int_equal(write(env.made.file.fd, &record, 20), 20);
	read_all(&env);
	assert_false(late_packets_has_grown(&env.late));
	assert_int_equal(env.late.windows.n, 0);
	assert_int_equal(write(env.made.file.fd, (const char *)&record + 20, 28), 28);
	read_all(&env);
	assert_int_equal(env.late.windows.n, 1);
	stop(&env);
}

static void a_file_that_is_not_there_yet_is_waited_for_and_a_new_one_begins_anew(void **state)
{
	static const struct clock_point never;
	struct env env;

	start(&env, 0, 50000);
	assert_false(late_packets_has_grown(&env.late));
	read_all(&env);
	(void)learn(&env);
	assert_int_equal(env.late.n_packets, 3000);

	assert_int_equal(record_file_close(&env.made.file, &never), 0);
	unlink(env.made.path);
	made_packets_open(&env.made);
	made_packet(&env.made, 6 * second, 6 * second + 1000, 0);
	read_all(&env);
	assert_int_equal(env.late.n_packets, 1);
	stop(&env);
}

// The next run's, in the same file.
static void write_over(struct env *env, uint64_t first_tsc, uint64_t from, size_t n)
{
	env->made.first_tsc = first_tsc;
	env->made.next_seq = 0;
	made_packets_open(&env->made);
	for (size_t i = 0; i < n; i++)
		made_packet(&env->made, from + i * ms, from + i * ms + 1000, 0);
}

static void a_file_that_was_written_over_beyond_what_was_read_begins_anew(void **state)
{
	static const struct clock_point end = {.tsc = 7};
	struct env env;

	start(&env, 0, 50000);
	env.made.first_tsc = 1;
	uint64_t t = learn(&env);
	made_packet(&env.made, t + 20 * second, t + 20 * second + ms, 0);
	made_packet(&env.made, t, 0, 0);
	read_all(&env);
	assert_int_equal(env.late.n_late, 1);
	assert_int_equal(env.late.n_lost, 1);
	assert_true(env.late.hold_ticks > 20 * second);
	assert_int_equal(env.late.windows.n, 2);

	assert_int_equal(record_file_close(&env.made.file, &end), 0);
	write_over(&env, 2, 6 * second, 4000);
	read_all(&env);

	assert_int_equal(env.late.n_packets, 4000);
	assert_int_equal(env.late.n_all, 4000);
	assert_int_equal(env.late.n_late, 0);
	assert_int_equal(env.late.n_lost, 0);
	assert_int_equal(env.late.hold_ticks, 5 * second);
	assert_int_equal(env.late.newest_tsc, 6 * second + 3999 * ms + 1000);
	assert_int_equal(env.late.windows.n, 1);
	assert_int_equal(env.late.windows.items[0].from_tsc, 6 * second - ms);
	stop(&env);
}

static void a_percentile_is_that_of_the_run_at_hand(void **state)
{
	static const struct clock_point end = {.tsc = 7};
	struct env env;

	start(&env, 0.99, 0);
	(void)learn(&env);
	assert_true(env.late.threshold_ticks > 0);
	assert_int_equal(record_file_close(&env.made.file, &end), 0);
	write_over(&env, 1, 6 * second, 1);
	read_all(&env);
	assert_int_equal(env.late.threshold_ticks, 0);
	assert_int_equal(env.late.n_all, 1);
	stop(&env);
}

// The trace begins at one second, and the clock is far from its end.
static void what_ended_before_the_trace_is_waited_for_until_it_is_written_over(void **state)
{
	static const struct {
		uint64_t first_tsc;
		struct clock_point last;
		bool is_killed;
	} rows[] = {
		{1, {.tsc = 999999999}, false}, // of this machine's time
		{1, {.tsc = UINT64_MAX}, false}, // of one before
		{UINT64_MAX, {0}, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct env env;
		start(&env, 0, 50000);
		write_over(&env, rows[i].first_tsc, 100 * second, 10);
		made_packet(&env.made, 50 * second, 0, 0);
		if (rows[i].is_killed)
			close(env.made.file.fd);
		else
			assert_int_equal(record_file_close(&env.made.file, &rows[i].last), 0);
		read_all(&env);
		assert_false(late_packets_has_grown(&env.late));
		assert_int_equal(env.late.n_packets, 0);
		assert_int_equal(env.late.n_lost, 0);
		assert_int_equal(late_packets_passed(&env.late), 0);

		write_over(&env, 2, 2 * second, 20);
		read_all(&env);
		assert_int_equal(env.late.n_packets, 20);
		assert_int_equal(env.late.windows.n, 1);
		stop(&env);
	}
}

static void what_ended_since_the_trace_began_is_read(void **state)
{
	static const struct clock_point end = {.tsc = 1000000001};
	struct env env;

	start(&env, 0, 50000);
	write_over(&env, 1, 2 * second, 3);
	assert_int_equal(record_file_close(&env.made.file, &end), 0);
	read_all(&env);
	assert_int_equal(env.late.n_packets, 3);
	stop(&env);
}

static void another_file_is_refused(void **state)
{
	struct env env;
	char other[300] = "no packets";

	start(&env, 0, 50000);
	env.made.file.fd = open(env.made.path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(env.made.file.fd, other, sizeof(other)), sizeof(other));
	assert_int_equal(late_packets_read(&env.late, &env.error), -EINVAL);
	assert_non_null(strstr(env.error.text, "no packet records"));
	assert_non_null(strstr(env.error.text, env.made.path));
	stop(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_packet_asks_for_its_surroundings),
		cmocka_unit_test(a_percentile_is_that_of_all_packets_so_far),
		cmocka_unit_test(where_slow_packets_alone_are_recorded_it_is_that_of_all),
		cmocka_unit_test(a_percentile_that_moves_both_ways_is_that_of_the_whole_histogram),
		cmocka_unit_test(a_percentile_is_believed_when_there_are_enough_packets_above_it),
		cmocka_unit_test(what_never_came_is_asked_for_and_the_warm_up_is_not),
		cmocka_unit_test(a_generator_that_waits_longer_for_a_packet_is_waited_for),
		cmocka_unit_test(half_a_record_is_read_when_it_is_whole),
		cmocka_unit_test(
			a_file_that_is_not_there_yet_is_waited_for_and_a_new_one_begins_anew),
		cmocka_unit_test(a_file_that_was_written_over_beyond_what_was_read_begins_anew),
		cmocka_unit_test(a_percentile_is_that_of_the_run_at_hand),
		cmocka_unit_test(
			what_ended_before_the_trace_is_waited_for_until_it_is_written_over),
		cmocka_unit_test(what_ended_since_the_trace_began_is_read),
		cmocka_unit_test(another_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
