// One scenario a class of docs/matching.md; that all implementations agree on random pairs is
// tested in tests/capture.

#include "key.h"
#include "match.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WINDOW_NS = 100, STRIDE = 16, MAX_GIVEN = 64, SEED = 7 };

struct scenario {
	struct match *match;
	void (*take)(struct scenario *s, const struct match_result *result);
	uint64_t n_right; // count_right's
	struct match_ingress ingress[MAX_GIVEN];
	struct match_egress egress[MAX_GIVEN];
	size_t n_ingress, n_egress;
};

static void keep(struct scenario *s, const struct match_result *result)
{
	if (result->is_ingress) {
		assert_true(s->n_ingress < MAX_GIVEN && result->ingress.pos == s->n_ingress);
		s->ingress[s->n_ingress++] = result->ingress;
	} else {
		assert_true(s->n_egress < MAX_GIVEN && result->egress.pos == s->n_egress);
		s->egress[s->n_egress++] = result->egress;
	}
}

// By threes: that results are taken in parts is the same to all of them.
static void take_all(struct scenario *s)
{
	struct match_result results[3];
	size_t n;

	while ((n = match_take(s->match, results, 3)) > 0)
		for (size_t i = 0; i < n; i++)
			s->take(s, &results[i]);
	assert_false(match_has_final(s->match));
}

static void start(struct scenario *s)
{
	struct match_config config = {
		.key_stride = STRIDE, .key_seed = SEED, .window_ns = WINDOW_NS};

	memset(s, 0, sizeof(*s));
	s->take = keep;
	assert_int_equal(match_create(&config, &s->match), 0);
}

// id 0: truncated.
static void feed(struct scenario *s, bool is_ingress, int64_t at_ns, uint32_t id)
{
	_Alignas(8) uint8_t key[STRIDE] = {0};
	uint32_t len = sizeof(id);

	memcpy(key, &id, sizeof(id));
	memcpy(key + STRIDE - sizeof(len), &len, sizeof(len));
	struct match_frame frame = {.ts_ns = at_ns,
		.clock_ns = at_ns,
		.key = id == 0 ? NULL : key,
		.hash = key_hash(key, STRIDE, SEED),
		.frame_len = 64};
	assert_int_equal(is_ingress ? match_feed_ingress(s->match, &frame)
				    : match_feed_egress(s->match, &frame),
		0);
	take_all(s);
}

static void in(struct scenario *s, int64_t at_ns, uint32_t id)
{
	feed(s, true, at_ns, id);
}

static void out(struct scenario *s, int64_t at_ns, uint32_t id)
{
	feed(s, false, at_ns, id);
}

static void end(struct scenario *s)
{
	match_end(s->match);
	take_all(s);
}

static void stop(struct scenario *s)
{
	match_destroy(s->match);
}

static void test_matched_lost_and_orphan(void **state)
{
	struct scenario s;

	start(&s);
	in(&s, 10, 1);
	in(&s, 20, 2);
	out(&s, 30, 1);
	out(&s, 40, 3);
	end(&s);
	assert_int_equal(s.ingress[0].class, MATCH_MATCHED);
	assert_int_equal(s.ingress[0].egress_ts_ns - s.ingress[0].ts_ns, 20);
	assert_int_equal(s.ingress[1].class, MATCH_LOST);
	assert_int_equal(s.egress[0].class, MATCH_MATCHED);
	assert_int_equal(s.egress[0].ingress_pos, 0);
	assert_int_equal(s.egress[1].class, MATCH_ORPHAN);
	stop(&s);
}

static void test_the_first_after_is_the_match_later_ones_are_duplicates(void **state)
{
	struct scenario s;

	start(&s);
	in(&s, 10, 1);
	out(&s, 15, 1);
	out(&s, 109, 1);
	end(&s);
	assert_int_equal(s.egress[0].class, MATCH_MATCHED);
	assert_int_equal(s.egress[1].class, MATCH_DUPLICATE);
	assert_int_equal(s.egress[1].ingress_pos, 0);
	stop(&s);
}

static void test_negative_latency_is_matched_and_gives_way_to_one_after(void **state)
{
	struct scenario s;

	start(&s);
	out(&s, 10, 1);
	out(&s, 11, 1);
	in(&s, 12, 1);
	out(&s, 20, 2);
	in(&s, 25, 2);
	out(&s, 30, 2);
	end(&s);
	// Of two before the ingress frame the nearer one is the match.
	assert_int_equal(s.egress[0].class, MATCH_DUPLICATE);
	assert_int_equal(s.egress[1].class, MATCH_MATCHED);
	assert_int_equal(s.ingress[0].egress_ts_ns, 11);
	assert_int_equal(s.egress[2].class, MATCH_DUPLICATE);
	assert_int_equal(s.egress[3].class, MATCH_MATCHED);
	assert_int_equal(match_counts(s.match)->negative, 1);
	stop(&s);
}

static void test_a_key_that_comes_twice_is_none(void **state)
{
	struct scenario s;

	start(&s);
	in(&s, 0, 1);
	out(&s, 5, 1);
	in(&s, 99, 1);
	in(&s, 198, 1);
	in(&s, 298, 1); // exactly a window later: a key again
	out(&s, 300, 1);
	end(&s);
	for (int i = 0; i < 3; i++)
		assert_int_equal(s.ingress[i].class, MATCH_AMBIGUOUS);
	assert_int_equal(s.ingress[3].class, MATCH_MATCHED);
	assert_int_equal(s.egress[0].class, MATCH_AMBIGUOUS);
	assert_int_equal(match_counts(s.match)->duplicate_keys, 1);
	stop(&s);
}

static void test_beyond_the_window_on_both_sides(void **state)
{
	struct scenario s;

	start(&s);
	in(&s, 0, 1);
	out(&s, 100, 1); // a window after
	in(&s, 250, 1); // 150 after the egress frame: farther than the one before
	out(&s, 500, 2);
	in(&s, 699, 2); // 199 later
	out(&s, 900, 3);
	in(&s, 1100, 3); // two windows: an orphan
	end(&s);
	assert_int_equal(s.egress[0].class, MATCH_BEYOND_WINDOW);
	assert_int_equal(s.egress[0].ingress_pos, 0);
	assert_int_equal(s.egress[1].class, MATCH_BEYOND_WINDOW);
	assert_int_equal(s.egress[1].ingress_pos, 2);
	assert_int_equal(s.egress[2].class, MATCH_ORPHAN);
	for (int i = 0; i < 4; i++)
		assert_int_equal(s.ingress[i].class, MATCH_LOST);
	stop(&s);
}

static void test_reordering_is_seen_at_the_egress(void **state)
{
	struct scenario s;

	start(&s);
	for (uint32_t id = 1; id <= 4; id++)
		in(&s, id, id);
	out(&s, 10, 1);
	out(&s, 11, 4);
	out(&s, 12, 2);
	out(&s, 13, 3);
	end(&s);
	assert_false(s.ingress[0].is_out_of_sequence);
	assert_true(s.ingress[1].is_out_of_sequence);
	assert_true(s.ingress[2].is_out_of_sequence);
	assert_false(s.ingress[3].is_out_of_sequence);
	assert_int_equal(match_counts(s.match)->out_of_sequence, 2);
	stop(&s);
}

static void test_truncated_frames_take_no_part(void **state)
{
	struct scenario s;

	start(&s);
	in(&s, 1, 0);
	in(&s, 2, 1);
	out(&s, 3, 0);
	out(&s, 4, 1);
	end(&s);
	assert_int_equal(s.ingress[0].class, MATCH_TRUNCATED);
	assert_int_equal(s.ingress[1].class, MATCH_MATCHED);
	assert_int_equal(s.egress[0].class, MATCH_TRUNCATED);
	assert_int_equal(s.egress[1].ingress_pos, 1);
	stop(&s);
}

static void test_frames_come_back_as_soon_as_they_are_final(void **state)
{
	struct scenario s;

	start(&s);
	in(&s, 0, 1);
	out(&s, 1, 1);
	in(&s, 200, 2);
	assert_int_equal(s.n_egress, 0);
	in(&s, 201, 3);
	assert_int_equal(s.n_egress, 1);
	assert_int_equal(s.n_ingress, 0);
	in(&s, 300, 4);
	assert_int_equal(s.n_ingress, 1);
	end(&s);
	assert_int_equal(s.n_ingress, 4);
	stop(&s);
}

static void count_right(struct scenario *s, const struct match_result *result)
{
	const struct match_ingress *frame = &result->ingress;

	s->n_right += result->is_ingress && frame->class == MATCH_MATCHED &&
		      frame->egress_ts_ns - frame->ts_ns == (int64_t)(frame->pos % 7) + 1;
}

// Many more frames in the window than there was room for at first, with truncated ones between.
static void test_the_rings_grow(void **state)
{
	struct match_config config = {.key_stride = STRIDE, .key_seed = SEED, .window_ns = 1000000};
	struct scenario s = {.take = count_right};

	assert_int_equal(match_create(&config, &s.match), 0);
	for (uint32_t i = 0; i < 50000; i++) {
		in(&s, i * 10, i % 100 == 99 ? 0 : i + 1);
		out(&s, i * 10 + i % 7 + 1, i % 100 == 99 ? 0 : i + 1);
	}
	end(&s);
	assert_int_equal(s.n_right, 49500);
	stop(&s);
}

enum { N_QUEUED = 40 };

// Frame i of a side: a packet leaves at most three places from where it came in; every 13th is
// lost, every 17th comes twice.
static struct match_frame queued(bool is_ingress, uint32_t i, uint8_t *key)
{
	static const uint32_t places[4] = {2, 0, 3, 1};
	uint32_t id = is_ingress ? i : i / 4 * 4 + places[i % 4];
	uint32_t len = sizeof(id);

	id = id % 13 == 0 && !is_ingress ? 1000 + id : id % 17 == 0 ? 17 : id;
	memset(key, 0, STRIDE);
	memcpy(key, &id, sizeof(id));
	memcpy(key + STRIDE - sizeof(len), &len, sizeof(len));
	return (struct match_frame){.ts_ns = 10 * i + (is_ingress ? 0 : 25),
		.clock_ns = 10 * i + (is_ingress ? 0 : 25),
		.key = key,
		.hash = key_hash(key, STRIDE, SEED),
		.frame_len = 64};
}

// Which frame is next, and how many are fed at a time, is the same to every frame.
static void test_queues_are_merged_in_order(void **state)
{
	static _Alignas(8) uint8_t keys[2][N_QUEUED][STRIDE];
	struct match_frame frames[2][N_QUEUED];
	struct scenario one, many;

	for (uint32_t i = 0; i < 2 * N_QUEUED; i++)
		frames[i % 2][i / 2] = queued(i % 2 == 0, i / 2, keys[i % 2][i / 2]);
	start(&one);
	for (size_t i = 0, o = 0; i + o < 2 * N_QUEUED;) {
		bool is_in = o == N_QUEUED ||
			     (i < N_QUEUED && frames[0][i].clock_ns <= frames[1][o].clock_ns);
		assert_int_equal(is_in ? match_feed_ingress(one.match, &frames[0][i++])
				       : match_feed_egress(one.match, &frames[1][o++]),
			0);
	}
	end(&one);

	start(&many);
	struct match_queue in = {frames[0], frames[0] + 15};
	struct match_queue out = {frames[1], frames[1] + 3};
	while (in.next < in.end && out.next < out.end) {
		assert_int_equal(match_feed(many.match, &in, &out), 0);
		assert_true(
			in.next == in.end || out.next == out.end || match_has_final(many.match));
		take_all(&many);
		if (in.next == in.end)
			in.end = frames[0] + N_QUEUED;
		if (out.next == out.end)
			out.end = frames[1] + N_QUEUED;
	}
	for (; out.next < out.end; out.next++)
		assert_int_equal(match_feed_egress(many.match, out.next), 0);
	end(&many);

	assert_int_equal(one.n_ingress, N_QUEUED);
	assert_memory_equal(
		match_counts(one.match), match_counts(many.match), sizeof(struct match_counts));
	for (size_t i = 0; i < N_QUEUED; i++) {
		assert_int_equal(one.ingress[i].class, many.ingress[i].class);
		assert_int_equal(one.ingress[i].egress_ts_ns, many.ingress[i].egress_ts_ns);
		assert_int_equal(one.egress[i].class, many.egress[i].class);
		assert_int_equal(one.egress[i].ingress_pos, many.egress[i].ingress_pos);
	}
	assert_true(match_counts(one.match)->out_of_sequence > 0);
	assert_true(match_counts(one.match)->ingress[MATCH_LOST] > 0);
	stop(&one);
	stop(&many);
}

static void test_the_ends_of_time(void **state)
{
	struct scenario s;

	start(&s);
	in(&s, INT64_MIN, 1);
	out(&s, INT64_MIN + 1, 1);
	in(&s, INT64_MAX - 1, 2);
	out(&s, INT64_MAX, 2);
	end(&s);
	assert_int_equal(match_counts(s.match)->ingress[MATCH_MATCHED], 2);
	stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matched_lost_and_orphan),
		cmocka_unit_test(test_the_first_after_is_the_match_later_ones_are_duplicates),
		cmocka_unit_test(test_negative_latency_is_matched_and_gives_way_to_one_after),
		cmocka_unit_test(test_a_key_that_comes_twice_is_none),
		cmocka_unit_test(test_beyond_the_window_on_both_sides),
		cmocka_unit_test(test_reordering_is_seen_at_the_egress),
		cmocka_unit_test(test_truncated_frames_take_no_part),
		cmocka_unit_test(test_frames_come_back_as_soon_as_they_are_final),
		cmocka_unit_test(test_the_rings_grow),
		cmocka_unit_test(test_queues_are_merged_in_order),
		cmocka_unit_test(test_the_ends_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
