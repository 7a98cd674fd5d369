#include "error.h"
#include "made_packets_file.h"
#include "tail.h"
#include "trace_test_env.h"

static const uint64_t chunk_bytes = EVENT_CHUNK_BYTES;
static const uint64_t ms = 1000000, second = UINT64_C(1000000000);

enum { MOST = 1 << 19 };

struct env {
	struct made_packets made;
	cpu_set_t cores;
	struct tail_config config;
	struct tail tail;
	struct event_record *written;
	size_t n;
	uint64_t now; // of the generator
	struct error error;
};

static int write_one(void *context, const struct event_record *record)
{
	struct env *env = context;

	assert_true(env->n < MOST);
	env->written[env->n++] = *record;
	return 0;
}

static void start(struct env *env, uint64_t memory_bytes, uint64_t disk_bytes)
{
	memset(env, 0, sizeof(*env));
	made_packets_name(&env->made);
	CPU_ZERO(&env->cores);
	CPU_SET(1, &env->cores);
	CPU_SET(3, &env->cores);
	env->config = (struct tail_config){
		.late = {.path = env->made.path,
			.fixed_ns = 50000,
			.margin_ns = ms,
			.tsc_hz = MADE_HZ},
		.memory_bytes = memory_bytes,
		.disk_bytes = disk_bytes,
		.cores = &env->cores,
	};
	env->written = calloc(MOST, sizeof(*env->written));
	env->now = 2 * second;
	made_packets_open(&env->made);
	assert_int_equal(tail_open(&env->tail, &env->config, env->now, write_one, env), 0);
}

static void stop(struct env *env)
{
	tail_close(&env->tail);
	made_packets_remove(&env->made);
	free(env->written);
}

// Packets in time until then; the first two seconds are those that are always kept.
static void pass(struct env *env, uint64_t until)
{
	for (; env->now < until; env->now += ms)
		made_packet(&env->made, env->now, env->now + 1000, 0);
}

static void event(struct env *env, uint64_t tsc)
{
	const struct event_record record = {.tsc = tsc, .cpu = 1, .kind = EVENT_SWITCH};

	tail_take(&env->tail, &record);
}

static void decide(struct env *env)
{
	assert_int_equal(tail_decide(&env->tail, &env->error), 0);
}

static void finish(struct env *env)
{
	assert_int_equal(tail_finish(&env->tail, env->now + second, &env->error), 0);
}

static void assert_event(const struct env *env, size_t at, uint64_t tsc)
{
	assert_true(at < env->n);
	assert_int_equal(env->written[at].kind, EVENT_SWITCH);
	assert_int_equal(env->written[at].tsc, tsc);
}

static void assert_mark(const struct env *env, size_t at, enum event_kind kind, uint64_t from,
	uint64_t until, uint64_t n)
{
	assert_true(at < env->n);
	assert_int_equal(env->written[at].kind, kind);
	assert_int_equal(env->written[at].tsc, from);
	assert_int_equal(env->written[at].args[0], n);
	assert_int_equal(env->written[at].args[1], until);
}

static void the_surroundings_of_a_late_packet_are_kept_and_the_rest_is_marked(void **state)
{
	struct env env;

	start(&env, 0, 1 << 20);
	pass(&env, 6 * second);
	made_packet(&env.made, 6 * second, 6 * second + 3 * ms, 0);
	pass(&env, 8 * second);
	event(&env, 3 * second); // of the first two seconds
	event(&env, 5 * second);
	event(&env, 6 * second - 2 * ms);
	event(&env, 6 * second - ms);
	event(&env, 6 * second + 4 * ms);
	event(&env, 6 * second + 5 * ms);
	finish(&env);

	assert_int_equal(env.n, 5);
	assert_event(&env, 0, 3 * second);
	// From the end of what was kept whole to the beginning of the next.
	assert_mark(&env, 1, EVENT_SKIPPED, 4 * second + 1000, 6 * second - ms, 2);
	assert_event(&env, 2, 6 * second - ms);
	assert_event(&env, 3, 6 * second + 4 * ms);
	assert_mark(&env, 4, EVENT_SKIPPED, 6 * second + 4 * ms, env.now + second, 1);
	assert_int_equal(env.tail.n_kept, 3);
	assert_int_equal(env.tail.n_skipped, 3);
	stop(&env);
}

static void nothing_is_decided_before_the_file_has_passed_it(void **state)
{
	struct env env;

	start(&env, 0, 1 << 20);
	pass(&env, 6 * second);
	event(&env, 5 * second);
	event(&env, 6 * second);
	decide(&env);
	assert_int_equal(env.n, 0);
	assert_int_equal(env.tail.n_skipped, 0);
	// A packet sent then may be called lost four seconds later.
	pass(&env, 9 * second);
	decide(&env);
	made_packet(&env.made, 5 * second, 0, 0);
	pass(&env, 11 * second);
	decide(&env);

	assert_int_equal(env.tail.late.n_told_late, 0);
	assert_int_equal(env.n, 1);
	assert_event(&env, 0, 5 * second);
	stop(&env);
}

static void a_window_without_events_is_no_hole(void **state)
{
	struct env env;

	start(&env, 0, 1 << 20);
	pass(&env, 6 * second);
	made_packet(&env.made, 6 * second, 6 * second + ms, 0);
	pass(&env, 8 * second);
	event(&env, 5 * second);
	event(&env, 7 * second);
	finish(&env);

	assert_int_equal(env.n, 2);
	assert_mark(&env, 0, EVENT_SKIPPED, 4 * second + 1000, 6 * second - ms, 1);
	assert_mark(&env, 1, EVENT_SKIPPED, 6 * second + 2 * ms, env.now + second, 1);
	stop(&env);
}

static void where_nothing_was_let_go_nothing_is_marked(void **state)
{
	struct env env;

	start(&env, 0, 1 << 20);
	pass(&env, 8 * second);
	event(&env, 3 * second);
	finish(&env);

	assert_int_equal(env.n, 1);
	stop(&env);
}

static void a_hole_of_the_kernel_is_kept_where_it_touches_a_late_packet(void **state)
{
	struct env env;
	const struct event_record far = {
		.tsc = 5 * second, .kind = EVENT_LOST, .args = {3, 5 * second + ms}};
	const struct event_record near = {
		.tsc = 5 * second + 2 * ms, .kind = EVENT_LOST, .args = {4, 6 * second}};

	start(&env, 0, 1 << 20);
	pass(&env, 6 * second);
	made_packet(&env.made, 6 * second, 6 * second + ms, 0);
	pass(&env, 12 * second);
	tail_take(&env.tail, &far);
	tail_take(&env.tail, &near);
	decide(&env);

	assert_int_equal(env.n, 2);
	assert_mark(&env, 0, EVENT_SKIPPED, 4 * second + 1000, 5 * second + 2 * ms, 1);
	assert_mark(&env, 1, EVENT_LOST, 5 * second + 2 * ms, 6 * second, 4);
	stop(&env);
}

// Events a microsecond apart, from then on.
static void flood(struct env *env, uint64_t from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		event(env, from + 1000 * i);
}

static void what_memory_has_no_room_for_is_lost_where_it_was_wanted(void **state)
{
	struct env env;
	uint64_t from = 6 * second;

	start(&env, 2 * chunk_bytes, 16 << 20);
	pass(&env, from);
	made_packet(&env.made, from, from + 5 * ms, 0);
	pass(&env, 12 * second);
	flood(&env, from, UINT64_C(3) * EVENT_CHUNK);
	decide(&env);

	assert_int_equal(env.tail.n_lost, EVENT_CHUNK);
	// One for each watched core.
	uint64_t until = from + UINT64_C(1000) * (EVENT_CHUNK - 1);
	assert_mark(&env, 0, EVENT_LOST, from, until, EVENT_CHUNK);
	assert_mark(&env, 1, EVENT_LOST, from, until, EVENT_CHUNK);
	assert_int_equal(env.written[0].cpu, 1);
	assert_int_equal(env.written[1].cpu, 3);
	assert_int_equal(event_queue_most_chunks(env.tail.queue), 2);
	stop(&env);
}

static void what_memory_has_no_room_for_is_let_go_where_nobody_asked(void **state)
{
	struct env env;

	start(&env, 2 * chunk_bytes, 16 << 20);
	pass(&env, 9 * second);
	flood(&env, 6 * second, UINT64_C(3) * EVENT_CHUNK);
	finish(&env);

	assert_int_equal(env.tail.n_lost, 0);
	assert_int_equal(env.n, 1);
	assert_mark(&env, 0, EVENT_SKIPPED, 4 * second + 1000, env.now + second,
		UINT64_C(3) * EVENT_CHUNK);
	stop(&env);
}

static void beyond_its_share_of_the_disk_nothing_is_kept(void **state)
{
	struct env env;
	uint64_t n = UINT64_C(4) * EVENT_CHUNK;

	start(&env, 8 * chunk_bytes, chunk_bytes);
	pass(&env, 5 * second);
	flood(&env, 2 * second, n);
	flood(&env, 6 * second, 10);
	finish(&env);

	assert_true(env.tail.is_disk_full);
	assert_true(env.n <= EVENT_CHUNK);
	assert_true(env.n > EVENT_CHUNK - 2000);
	assert_int_equal(env.tail.n_kept, env.n - 1);
	assert_int_equal(env.tail.n_kept + env.tail.n_over_disk, n);
	uint64_t last = env.written[env.n - 2].tsc;
	assert_mark(
		&env, env.n - 1, EVENT_SKIPPED, last, env.now + second, n + 10 - env.tail.n_kept);
	stop(&env);
}

// Against the plain rule, event by event: kept if within a margin of a late packet.
static void it_keeps_what_the_rule_says(void **state)
{
	enum { N = 20000 };
	static uint64_t events[N], sent[N];
	struct env env;
	uint64_t random = 11, t = 5 * second;
	size_t n_late = 0, n_expected = 0, n_found = 0;

	start(&env, 4 * chunk_bytes, 16 << 20);
	pass(&env, t);
	for (size_t i = 0; i < N; i++)
		events[i] = t + i * ms + made_number(&random, 1000);
	for (size_t i = 0, at = 0; i < N; i++) {
		bool is_late = made_number(&random, 40) == 0;
		env.now = t + i * ms;
		made_packet(&env.made, env.now, env.now + (is_late ? 60000 : 1000), 0);
		if (is_late)
			sent[n_late++] = env.now;
		for (; i % 1000 == 999 && at <= i; at++)
			event(&env, events[at]);
		if (i % 1000 == 999)
			decide(&env);
	}
	finish(&env);

	for (size_t i = 0, late = 0; i < N; i++) {
		while (late < n_late && sent[late] + 60000 + ms < events[i])
			late++;
		bool is_wanted = late < n_late && sent[late] - ms <= events[i];
		n_expected += is_wanted;
		while (n_found < env.n && env.written[n_found].kind == EVENT_SKIPPED)
			n_found++;
		if (is_wanted)
			assert_event(&env, n_found++, events[i]);
	}
	assert_int_equal(env.tail.n_kept, n_expected);
	assert_int_equal(env.tail.n_kept + env.tail.n_skipped, N);
	assert_true(n_expected > N / 100 && n_expected < N / 5);
	for (size_t i = 1; i < env.n; i++)
		assert_true(env.written[i].tsc >= env.written[i - 1].tsc);
	stop(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_surroundings_of_a_late_packet_are_kept_and_the_rest_is_marked),
		cmocka_unit_test(nothing_is_decided_before_the_file_has_passed_it),
		cmocka_unit_test(a_window_without_events_is_no_hole),
		cmocka_unit_test(where_nothing_was_let_go_nothing_is_marked),
		cmocka_unit_test(a_hole_of_the_kernel_is_kept_where_it_touches_a_late_packet),
		cmocka_unit_test(what_memory_has_no_room_for_is_lost_where_it_was_wanted),
		cmocka_unit_test(what_memory_has_no_room_for_is_let_go_where_nobody_asked),
		cmocka_unit_test(beyond_its_share_of_the_disk_nothing_is_kept),
		cmocka_unit_test(it_keeps_what_the_rule_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
