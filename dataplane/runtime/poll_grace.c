#include "poll_grace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	PAUSE_NS = 50000,
	// A poller that stands still for longer is stopped (SIGSTOP) or gone: do not hang with it.
	MAX_PAUSES = 200000, // 10 s, and what timers are late
};

// Process-wide, because munmap is. Release by enter and leave, acquire by wait_for_poller.
static _Atomic(const volatile uint64_t *) poller_iterations;
static _Atomic pid_t poller_tid;

void poll_grace_enter(const uint64_t *n_iterations)
{
	atomic_store_explicit(&poller_tid, gettid(), memory_order_relaxed);
	atomic_store_explicit(&poller_iterations, n_iterations, memory_order_release);
}

void poll_grace_leave(void)
{
	atomic_store_explicit(&poller_iterations, NULL, memory_order_release);
}

// Two ends of an iteration from now lie behind the burst that may be under way.
static void wait_for_poller(void)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const volatile uint64_t *n = atomic_load_explicit(&poller_iterations, memory_order_acquire);

	if (n == NULL || gettid() == atomic_load_explicit(&poller_tid, memory_order_relaxed))
		return;
	uint64_t first = *n;
	for (int i = 0; i < MAX_PAUSES && *n - first < 2; i++) {
		if (atomic_load_explicit(&poller_iterations, memory_order_acquire) == NULL)
			return;
		nanosleep(&pause, NULL);
	}
}

// The linker lets it take the place of libc's in the drivers, too.
int munmap(void *address, size_t len)
{
	wait_for_poller();
	return (int)syscall(SYS_munmap, address, len);
}
