// How long a line of memory takes from one core to the other: half of a round trip, in ns, the
// median of 200 batches of 100. What every packet pays several times between a generator and a
// device in shared memory, whoever wrote them. Usage: line CORE CORE
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 200, TRIPS = 100 };

static alignas(128) _Atomic unsigned there, back;

static void pin(const char *core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(atoi(core), &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0) {
		perror(core);
		exit(1);
	}
}

static void *answer(void *core)
{
	pin(core);
	for (unsigned trip = 1; trip <= BATCHES * TRIPS; trip++) {
		while (atomic_load_explicit(&there, memory_order_acquire) != trip)
			;
		atomic_store_explicit(&back, trip, memory_order_release);
	}
	return NULL;
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	static double batch_ns[BATCHES];
	pthread_t other;

	if (argc != 3) {
		fprintf(stderr, "usage: line CORE CORE\n");
		return 2;
	}
	pin(argv[1]);
	if (pthread_create(&other, NULL, answer, argv[2]) != 0)
		return 1;
	for (unsigned batch = 0; batch < BATCHES; batch++) {
		double began_ns = now_ns();
		for (unsigned trip = batch * TRIPS + 1; trip <= (batch + 1) * TRIPS; trip++) {
			atomic_store_explicit(&there, trip, memory_order_release);
			while (atomic_load_explicit(&back, memory_order_acquire) != trip)
				;
		}
		batch_ns[batch] = (now_ns() - began_ns) / (2.0 * TRIPS);
	}
	pthread_join(other, NULL);
	qsort(batch_ns, BATCHES, sizeof(double), compare);
	printf("%.1f\n", batch_ns[BATCHES / 2]);
	return 0;
}
