// A signal for the polling thread: so that it is seen before the next tick, the kernel sends a
// reschedule interrupt to the core. The handler, which runs there, says when it had come.

#include "cause.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TIMEOUT_NS = 100000000 };

struct reschedule {
	const struct cause_env *env;
	uint32_t tid;
};

static _Atomic uint64_t handled_tsc; // by the handler, for the injector, who polls it

static void on_signal(int number)
{
	atomic_store_explicit(&handled_tsc, clock_tsc(), memory_order_relaxed);
}

// By the poller.
static void let_signal_in(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static int reschedule_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct reschedule *reschedule = state;

	*reschedule = (struct reschedule){.env = env, .tid = (uint32_t)gettid()};
	sigaction(SIGRTMIN, &action, NULL);
	if (poller_call(env->poller, let_signal_in, NULL, clock_ticks(TIMEOUT_NS, env->tsc_hz)))
		return 0;
	error_set(error, "core %d: the polling thread does not run there", env->core);
	return -EAGAIN;
}

static int reschedule_once(void *state)
{
	struct reschedule *reschedule = state;
	const struct cause_env *env = reschedule->env;
	uint64_t timeout_ticks = clock_ticks(TIMEOUT_NS, env->tsc_hz);
	uint64_t end = 0;

	if (!cause_finds_victim(env))
		return 0;
	uint64_t start = clock_tsc();
	if (syscall(SYS_tgkill, getpid(), poller_tid(env->poller), SIGRTMIN) < 0)
		return -errno;
	while (end < start && clock_tsc() - start < timeout_ticks) {
		end = atomic_load_explicit(&handled_tsc, memory_order_relaxed);
		cause_wait(env, start);
	}
	if (end < start)
		return 0;
	injection_log_add(env->log, start, end, reschedule->tid, 0);
	return 1;
}

const struct cause_ops cause_reschedule = {
	.name = "reschedule",
	.summary = "a reschedule interrupt, sent because of a signal for the polling thread",
	.state_size = sizeof(struct reschedule),
	.sends_ipi = true,
	.init = reschedule_init,
	.once = reschedule_once,
};
