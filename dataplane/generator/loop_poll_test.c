#include "loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "clock.h"

enum { N_POLLS = 2000 }; // that loop_measure_poll does

static uint32_t n_polls;
static uint32_t n_empty; // of the polls, the last ones

// In place of the ports.
uint32_t receiver_run(struct receiver *receiver, uint64_t before_tsc)
{
	// A poll takes a tick at least.
	while (clock_tsc() == before_tsc)
		;
	return n_polls++ < N_POLLS - n_empty;
}

uint32_t sender_run(struct sender *sender, uint64_t now_tsc)
{
	return 0;
}

static uint64_t measured(uint32_t empty)
{
	static struct loop loop = {.n_receivers = 1};

	n_polls = 0;
	n_empty = empty;
	return loop_measure_poll(&loop);
}

static void test_an_empty_poll_has_a_cost_and_ports_that_are_never_empty_have_none(void **state)
{
	assert_in_range(measured(N_POLLS), 1, UINT32_MAX);
	assert_in_range(measured(1), 1, UINT32_MAX);
	assert_int_equal(measured(0), 0);
}

// What is lost would be waited for as long as others' packets come.
static void test_ports_that_are_never_empty_are_left_when_the_time_is_over(void **state)
{
	const struct gap_log_config gaps = {.threshold_ticks = UINT64_MAX / 4};
	static const volatile int never;
	static struct measurement measurement = {.counters.sent = 1};
	static struct loop loop = {.n_senders = 1, .n_receivers = 1, .n_signals = &never};

	loop.senders[0].measurement = &measurement;
	assert_int_equal(gap_watch_create(&loop.gaps, &gaps, 8), 0);
	n_polls = 0;
	n_empty = 0;

	assert_int_equal(loop_drain(&loop), LOOP_TIMEOUT);

	assert_in_range(n_polls, 2, N_POLLS - 1);
	gap_watch_destroy(&loop.gaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_an_empty_poll_has_a_cost_and_ports_that_are_never_empty_have_none),
		cmocka_unit_test(test_ports_that_are_never_empty_are_left_when_the_time_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
