#include "event_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const uint64_t chunk_bytes = EVENT_CHUNK_BYTES;

static bool push(struct event_queue *queue, uint64_t tsc)
{
	const struct event_record record = {.tsc = tsc};

	return event_queue_push(queue, &record);
}

static void assert_next(struct event_queue *queue, uint64_t tsc)
{
	const struct event_record *front = event_queue_front(queue);

	assert_non_null(front);
	assert_int_equal(front->tsc, tsc);
	event_queue_pop(queue);
}

static void events_come_out_as_they_went_in(void **state)
{
	struct event_queue *queue;
	uint64_t in = 0, out = 0;

	assert_int_equal(event_queue_create(&queue, 4 * chunk_bytes), 0);
	assert_null(event_queue_front(queue));
	// Several times round its ring.
	for (int round = 0; round < 9; round++) {
		for (uint64_t i = 0; i < UINT64_C(2) * EVENT_CHUNK + 7; i++)
			assert_true(push(queue, in++));
		while (out < in - (round < 8 ? 5 : 0))
			assert_next(queue, out++);
	}
	assert_null(event_queue_front(queue));
	assert_true(event_queue_most_chunks(queue) <= 4);
	event_queue_destroy(queue);
}

static void a_full_one_takes_no_more_until_a_chunk_is_free(void **state)
{
	struct event_queue *queue;

	assert_int_equal(event_queue_create(&queue, 0), 0);
	for (uint64_t i = 0; i < UINT64_C(2) * EVENT_CHUNK; i++)
		assert_true(push(queue, i));
	assert_false(push(queue, 0));
	for (uint64_t i = 0; i < EVENT_CHUNK; i++)
		assert_next(queue, i);
	assert_true(push(queue, 99));
	assert_int_equal(event_queue_most_chunks(queue), 2);
	event_queue_destroy(queue);
}

static void what_empties_gives_its_memory_back(void **state)
{
	struct event_queue *queue;

	assert_int_equal(event_queue_create(&queue, 8 * chunk_bytes), 0);
	for (uint64_t i = 0; i < UINT64_C(8) * EVENT_CHUNK; i++)
		assert_true(push(queue, i));
	assert_int_equal(event_queue_chunks(queue), 8);
	for (uint64_t i = 0; i < UINT64_C(8) * EVENT_CHUNK; i++)
		assert_next(queue, i);
	assert_int_equal(event_queue_chunks(queue), 1);
	event_queue_destroy(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_out_as_they_went_in),
		cmocka_unit_test(a_full_one_takes_no_more_until_a_chunk_is_free),
		cmocka_unit_test(what_empties_gives_its_memory_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
