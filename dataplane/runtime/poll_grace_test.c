#include "poll_grace.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

static const struct timespec some_ms = {.tv_nsec = 20000000};
static atomic_bool is_unmapped;

static void *unmap(void *page)
{
	munmap(page, 4096);
	atomic_store(&is_unmapped, true);
	return NULL;
}

static void *map(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(page != MAP_FAILED);
	atomic_store(&is_unmapped, false);
	return page;
}

static void test_unmapping_waits_for_the_poller_to_go_round(void **state)
{
	volatile uint64_t n_iterations = 7;
	pthread_t other;

	poll_grace_enter((const uint64_t *)&n_iterations);
	assert_int_equal(pthread_create(&other, NULL, unmap, map()), 0);
	nanosleep(&some_ms, NULL);
	assert_false(atomic_load(&is_unmapped));
	n_iterations++;
	nanosleep(&some_ms, NULL);
	assert_false(atomic_load(&is_unmapped));
	// The other may have begun to wait only now.
	for (int i = 0; i < 3000 && !atomic_load(&is_unmapped); i++) {
		n_iterations++;
		nanosleep(&some_ms, NULL);
	}
	assert_true(atomic_load(&is_unmapped));
	pthread_join(other, NULL);
	poll_grace_leave();
}

static void test_poller_that_leaves_is_not_waited_for(void **state)
{
	uint64_t n_iterations = 7;
	pthread_t other;

	poll_grace_enter(&n_iterations);
	assert_int_equal(pthread_create(&other, NULL, unmap, map()), 0);
	nanosleep(&some_ms, NULL);
	assert_false(atomic_load(&is_unmapped));
	poll_grace_leave();
	pthread_join(other, NULL);
	assert_true(atomic_load(&is_unmapped));
}

static void test_poller_itself_and_programs_without_one_do_not_wait(void **state)
{
	uint64_t n_iterations = 7;

	unmap(map());
	poll_grace_enter(&n_iterations);
	unmap(map());
	poll_grace_leave();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmapping_waits_for_the_poller_to_go_round),
		cmocka_unit_test(test_poller_that_leaves_is_not_waited_for),
		cmocka_unit_test(test_poller_itself_and_programs_without_one_do_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
