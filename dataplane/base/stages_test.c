// Stages that hand numbers on: every one arrives, in order, whatever the number of threads; a stage
// is run by one thread at a time, and the end is found.

#include "stages.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N_NUMBERS = 20000, ROOM = 4, N_LINKS = 5 };

// Link i takes from link i - 1; the first makes the numbers, and the last only looks at them.
struct link {
	struct link *from;
	uint64_t numbers[ROOM];
	uint64_t n_put, n_taken, n_done;
	atomic_int n_inside;
	uint64_t n_wrong;
	bool is_last;
};

static bool link_is_ready(void *context)
{
	struct link *link = context;
	bool has_input = link->from != NULL ? link->from->n_taken < link->from->n_put
					    : link->n_put < N_NUMBERS;

	return has_input && (link->is_last || link->n_put - link->n_taken < ROOM);
}

static void link_work(void *context)
{
	struct link *link = context;
	uint64_t number =
		link->from != NULL ? link->from->numbers[link->n_done % ROOM] : link->n_done;

	link->n_wrong += atomic_fetch_add(&link->n_inside, 1) != 0;
	link->n_wrong += number != link->n_done;
	if (link->n_done % 512 == 0)
		sched_yield();
	link->numbers[link->n_done++ % ROOM] = number;
	atomic_fetch_sub(&link->n_inside, 1);
}

static void link_done(void *context)
{
	struct link *link = context;

	link->n_put++;
	if (link->from != NULL)
		link->from->n_taken++;
}

static void run_links(size_t n_threads)
{
	struct link links[N_LINKS] = {0};
	struct stage stages[N_LINKS];

	for (size_t i = 0; i < N_LINKS; i++) {
		links[i].from = i > 0 ? &links[i - 1] : NULL;
		links[i].is_last = i == N_LINKS - 1;
		stages[N_LINKS - 1 - i] =
			(struct stage){link_is_ready, link_work, link_done, &links[i]};
	}
	stages_run(stages, N_LINKS, n_threads);
	for (size_t i = 0; i < N_LINKS; i++) {
		assert_int_equal(links[i].n_done, N_NUMBERS);
		assert_int_equal(links[i].n_wrong, 0);
	}
}

static void test_numbers_arrive_in_order_by_any_number_of_threads(void **state)
{
	for (size_t n_threads = 1; n_threads <= N_LINKS + 1; n_threads++)
		run_links(n_threads);
}

struct never {
	bool has_worked;
};

static bool never_ready(void *context)
{
	return false;
}

static void never_works(void *context)
{
	struct never *never = context;

	never->has_worked = true;
}

static void test_what_is_never_ready_is_over_at_once(void **state)
{
	struct never never = {0};
	const struct stage stages[] = {
		{never_ready, never_works, never_works, &never},
		{never_ready, never_works, never_works, &never},
	};

	stages_run(stages, 2, 2);
	assert_false(never.has_worked);
}

// Two stages that need each other at the same time are only run by two threads.
struct meeting {
	pthread_barrier_t *barrier;
	bool has_met;
};

static bool meeting_is_ready(void *context)
{
	return !((struct meeting *)context)->has_met;
}

static void meet(void *context)
{
	pthread_barrier_wait(((struct meeting *)context)->barrier);
}

static void meeting_done(void *context)
{
	((struct meeting *)context)->has_met = true;
}

static void test_stages_run_side_by_side(void **state)
{
	pthread_barrier_t barrier;
	struct meeting meetings[2] = {{&barrier, false}, {&barrier, false}};
	const struct stage stages[] = {
		{meeting_is_ready, meet, meeting_done, &meetings[0]},
		{meeting_is_ready, meet, meeting_done, &meetings[1]},
	};

	pthread_barrier_init(&barrier, NULL, 2);
	stages_run(stages, 2, 2);
	assert_true(meetings[0].has_met && meetings[1].has_met);
	pthread_barrier_destroy(&barrier);
}

static void test_a_stage_that_waits_for_its_file_leaves_another_a_thread(void **state)
{
	assert_int_equal(stages_threads(1), 1);
	assert_true(stages_threads(3) >= 2 && stages_threads(3) <= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_arrive_in_order_by_any_number_of_threads),
		cmocka_unit_test(test_what_is_never_ready_is_over_at_once),
		cmocka_unit_test(test_stages_run_side_by_side),
		cmocka_unit_test(test_a_stage_that_waits_for_its_file_leaves_another_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
