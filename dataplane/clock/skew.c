#include "skew.h"

#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct table_tennis {
	// The ball: the number of the turn. Release on store, acquire on load, so that the stamp
	// written before it is seen with it.
	_Alignas(64) atomic_uint turn;
	_Alignas(64) uint64_t stamp_tsc;
	atomic_int pinned_b; // 0 until the other player stands at core_b: then 1, or -errno
	uint32_t n_rounds;
	int core_b;
	int64_t min_to_b, min_to_a; // smallest received - sent, each way
};

static int pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	return -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

// As clock_tsc, but read neither before what is above it is done nor after what is below it: of
// many rounds the one in which the counter was read too early would be the shortest. lfence does
// not let a later instruction begin before it is complete (Intel SDM vol. 2A, LFENCE; AMD APM vol.
// 3).
static uint64_t tsc_in_order(void)
{
	__asm__ volatile("lfence" ::: "memory");
	uint64_t now = clock_tsc();
	__asm__ volatile("lfence" ::: "memory");
	return now;
}

// Wait for the ball, note how long it was under way, and send it back.
static void play(struct table_tennis *game, unsigned int first_turn, int64_t *min_received)
{
	for (uint32_t round = 0; round < game->n_rounds; round++) {
		unsigned int turn = first_turn + 2 * round;
		while (atomic_load_explicit(&game->turn, memory_order_acquire) != turn)
			;
		int64_t flight = tsc_in_order() - game->stamp_tsc;
		// The first ball was not served by the other side.
		if (turn > 0 && flight < *min_received)
			*min_received = flight;
		game->stamp_tsc = tsc_in_order();
		atomic_store_explicit(&game->turn, turn + 1, memory_order_release);
	}
}

static void *play_b(void *arg)
{
	struct table_tennis *game = arg;
	int err = pin(game->core_b);

	atomic_store(&game->pinned_b, err < 0 ? err : 1);
	if (err == 0)
		play(game, 1, &game->min_to_b);
	return NULL;
}

// Nobody would send the ball back of a player who does not stand at the table: a core that was
// there a moment ago may be gone (hotplug, a cpuset).
static int wait_for_b(struct table_tennis *game)
{
	int pinned;

	while ((pinned = atomic_load(&game->pinned_b)) == 0)
		sched_yield();
	return pinned < 0 ? pinned : 0;
}

static int play_both(struct table_tennis *game)
{
	pthread_t other;
	int err = -pthread_create(&other, NULL, play_b, game);

	if (err < 0)
		return err;
	err = wait_for_b(game);
	if (err == 0)
		play(game, 0, &game->min_to_a);
	pthread_join(other, NULL);
	return err;
}

struct skew skew_of(int64_t min_to_b, int64_t min_to_a)
{
	return (struct skew){
		.skew_ticks = (min_to_b - min_to_a) / 2,
		.uncertainty_ticks = llabs(min_to_b + min_to_a) / 2,
	};
}

int skew_measure(int core_a, int core_b, uint32_t n_rounds, struct skew *out)
{
	struct table_tennis game = {
		.n_rounds = n_rounds,
		.core_b = core_b,
		.min_to_a = INT64_MAX,
		.min_to_b = INT64_MAX,
	};
	cpu_set_t before;

	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return -errno;
	int err = pin(core_b); // proves that the core exists, before a thread waits for it
	if (err == 0)
		err = pin(core_a);
	if (err == 0)
		err = play_both(&game);
	if (err == 0)
		*out = skew_of(game.min_to_b, game.min_to_a);
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}
