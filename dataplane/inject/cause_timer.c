// A high-resolution timer that expires on the core. The polling thread arms it, because a timer
// expires on the CPU that armed it; nobody waits for it, so that nothing is woken and nothing
// switched. Another CPU watches until it has expired.
//
// On a nohz_full core the kernel queues such timers on other CPUs: then none is felt.

#include "cause.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { TIMEOUT_NS = 100000000 };

struct timer_options {
	uint64_t delay_ns;
};

static const struct option_spec timer_specs[] = {
	{
		.name = "delay",
		.type = OPTION_DURATION,
		.offset = offsetof(struct timer_options, delay_ns),
		.default_text = "200us",
		.help = "from arming the timer to its expiry",
		.min = 10000,
		.max = 50000000,
	},
};

struct timer {
	const struct cause_env *env;
	struct itimerspec delay;
	uint64_t delay_ticks;
	uint64_t armed_tsc; // before it was; 0: it was not
	int fd;
};

// By the poller.
static void arm(void *arg)
{
	struct timer *timer = arg;

	timer->armed_tsc = clock_tsc();
	if (timerfd_settime(timer->fd, 0, &timer->delay, NULL) < 0)
		timer->armed_tsc = 0;
}

static int timer_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct timer_options *chosen = options;
	struct timer *timer = state;

	*timer = (struct timer){
		.env = env,
		.delay.it_value.tv_nsec = (long)chosen->delay_ns,
		.delay_ticks = clock_ticks(chosen->delay_ns, env->tsc_hz),
		.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
	};
	if (timer->fd >= 0)
		return 0;
	error_set(error, "timer: cannot be made: %s", strerror(errno));
	return -EINVAL;
}

// Noted is the time from which it was due to that at which it was seen to have expired.
static int timer_once(void *state)
{
	struct timer *timer = state;
	const struct cause_env *env = timer->env;
	uint64_t timeout_ticks = clock_ticks(TIMEOUT_NS, env->tsc_hz);
	uint64_t n_expired = 0;

	if (!poller_call(env->poller, arm, timer, timeout_ticks) || timer->armed_tsc == 0)
		return 0;
	uint64_t due = timer->armed_tsc + timer->delay_ticks;
	while (clock_tsc() < due)
		cause_wait(env, timer->armed_tsc);
	while (read(timer->fd, &n_expired, sizeof(n_expired)) < 0 &&
		clock_tsc() - due < timeout_ticks)
		cause_wait(env, due);
	if (n_expired == 0)
		return 0;
	injection_log_add(env->log, due, clock_tsc(), (uint32_t)poller_tid(env->poller), 0);
	return 1;
}

static int timer_fini(void *state, struct error *error)
{
	struct timer *timer = state;

	if (timer->env != NULL && timer->fd >= 0)
		(void)close(timer->fd);
	return 0;
}

const struct cause_ops cause_timer = {
	.name = "timer",
	.summary = "a timer of the polling thread's expires on the core and wakes nobody",
	.options = timer_specs,
	.n_options = sizeof(timer_specs) / sizeof(timer_specs[0]),
	.options_size = sizeof(struct timer_options),
	.state_size = sizeof(struct timer),
	.init = timer_init,
	.once = timer_once,
	.fini = timer_fini,
};
