#include "pacing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

// Sends what may leave at now; returns how many. Packets are due every 100 ticks.
static uint64_t send_at(struct pacing *pacing, uint64_t *next, uint64_t now)
{
	uint64_t n = 0;

	while (true) {
		uint64_t effective = pacing_next(pacing, *next * 100, 100);
		if (now < effective)
			return n;
		pacing_sent(pacing, effective, now);
		(*next)++;
		n++;
	}
}

static void test_a_punctual_sender_sends_each_packet_when_due(void **state)
{
	struct pacing pacing = {.quantum_ticks = 10};
	uint64_t next = 1;

	for (uint64_t now = 0; now < 1000; now++)
		assert_int_equal(send_at(&pacing, &next, now), now % 100 == 0 && now > 0);
}

static void test_a_stalled_sender_works_off_its_backlog_at_twice_the_rate(void **state)
{
	struct pacing pacing = {.quantum_ticks = 10};
	uint64_t next = 1, now = 5000, n_in_one_go = 0;

	// Stalled until 5000: 50 packets are due. At half gaps it takes as long again.
	for (; next * 100 < now; now++) {
		uint64_t n = send_at(&pacing, &next, now);
		n_in_one_go = n > n_in_one_go ? n : n_in_one_go;
	}

	assert_int_equal(n_in_one_go, 1);
	assert_in_range(now, 9700, 10100);
	assert_in_range(next, 97, 101);
}

static void test_one_go_never_holds_more_than_a_quantum_of_half_gaps(void **state)
{
	struct pacing pacing = {.quantum_ticks = 500};
	uint64_t next = 1;

	assert_in_range(send_at(&pacing, &next, 50000), 10, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_punctual_sender_sends_each_packet_when_due),
		cmocka_unit_test(test_a_stalled_sender_works_off_its_backlog_at_twice_the_rate),
		cmocka_unit_test(test_one_go_never_holds_more_than_a_quantum_of_half_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
