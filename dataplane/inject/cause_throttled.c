// The quota of a control group is used up: the scheduler keeps its threads from running until it is
// given more. The victim is a process in a group of our own, which another's (--victim) leaves at
// the end for the one it was in; for each act its quota is made so small that it is used up at the
// next tick or so, and then large again. When it was throttled the kernel's own counter tells.

#include "cause.h"
#include "cpu_group.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	SMALL_US = 1000, // the least the kernel takes
	TIMEOUT_NS = 100000000,
	LOOK_NS = 50000,
};

struct throttled_options {
	uint64_t length_ns;
};

static const struct option_spec throttled_specs[] = {
	{
		.name = "length",
		.type = OPTION_DURATION,
		.offset = offsetof(struct throttled_options, length_ns),
		.default_text = "8ms",
		.help = "from using its quota up to having it again, at least; on a core that "
			"others use "
			"longer than their slices",
		.min = 1000000,
		.max = 500000000,
	},
};

struct throttled {
	const struct cause_env *env;
	struct cpu_group *group;
	uint64_t length_ticks;
	uint32_t tid;
	clockid_t clock; // the victim's CPU time
};

static int throttled_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct throttled_options *chosen = options;
	struct throttled *throttled = state;

	*throttled = (struct throttled){
		.env = env,
		.length_ticks = clock_ticks(chosen->length_ns, env->tsc_hz),
		.tid = (uint32_t)gettid(),
	};
	if (clock_getcpuclockid(env->victim_pid, &throttled->clock) != 0) {
		error_set(error, "throttled: the poller has ended");
		return -ESRCH;
	}
	int err = cpu_group_create(&throttled->group, NULL, error);
	if (err < 0)
		return err;
	err = cpu_group_unlimit(throttled->group);
	if (err == 0 && env->poller == NULL)
		return cpu_group_borrow(throttled->group, env->victim_pid, NULL, error);
	if (err == 0)
		err = cpu_group_add(throttled->group, env->victim_pid);
	if (err < 0)
		error_set(error, "throttled: %s: %s; run as root", cpu_group_path(throttled->group),
			strerror(-err));
	return err;
}

static uint64_t cpu_time_ns(clockid_t clock)
{
	struct timespec time = {0};

	(void)clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// Until the victim has used its quota up and has then been silent for as long as it shall be
// throttled. Silence alone may be that of waiting for a busy core. Another's process is silent
// while its CPU time stands still. Returns when it was last heard.
static uint64_t wait_until_silent(const struct throttled *throttled)
{
	const struct cause_env *env = throttled->env;
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t ran_ns = cpu_time_ns(throttled->clock);
	uint64_t used_up_ns = ran_ns + SMALL_US * 1000;
	uint64_t now = clock_tsc();
	uint64_t last = now;
	uint64_t end = now + throttled->length_ticks + clock_ticks(TIMEOUT_NS, env->tsc_hz);

	for (; now < end; now = clock_tsc()) {
		uint64_t before_ns = ran_ns;
		ran_ns = cpu_time_ns(throttled->clock);
		if (env->poller != NULL)
			last = poller_last_tsc(env->poller);
		else if (ran_ns != before_ns)
			last = now;
		if (last < now && now - last > throttled->length_ticks && ran_ns >= used_up_ns)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return last;
}

// The victim is silent, and shall run again. *end is when that was said, *ns how long it had been
// throttled by the kernel's counter: 0 where another thread had the core instead.
static int release(struct throttled *throttled, uint64_t before_ns, uint64_t *end, uint64_t *ns)
{
	*end = clock_tsc();
	int err = cpu_group_unlimit(throttled->group);
	if (err == 0)
		err = cpu_group_throttled_ns(throttled->group, ns);
	*ns -= err == 0 ? before_ns : *ns;
	return err;
}

static int throttled_once(void *state)
{
	struct throttled *throttled = state;
	const struct cause_env *env = throttled->env;
	uint64_t before_ns = 0, last = 0, end = 0, ns = 0;

	if (!cause_finds_victim(env))
		return 0;
	int err = cpu_group_throttled_ns(throttled->group, &before_ns);
	if (err == 0)
		err = cpu_group_limit(throttled->group, SMALL_US);
	if (err == 0) {
		last = wait_until_silent(throttled);
		err = release(throttled, before_ns, &end, &ns);
	}
	if (err < 0)
		return err;
	if (ns == 0)
		return 0;
	// It was released at once, unless a new period let it run meanwhile: then from that on.
	uint64_t start = end - clock_ticks(ns, env->tsc_hz);
	injection_log_add(env->log, start > last ? start : last, end, throttled->tid, ns);
	return 1;
}

static int throttled_fini(void *state, struct error *error)
{
	struct throttled *throttled = state;

	return cpu_group_destroy(throttled->group, error);
}

const struct cause_ops cause_throttled = {
	.name = "throttled",
	.summary = "the CPU quota of a control group is used up: of --victim, else of a poller",
	.arg = "time throttled, as the kernel counts it (ns)",
	.options = throttled_specs,
	.n_options = sizeof(throttled_specs) / sizeof(throttled_specs[0]),
	.options_size = sizeof(struct throttled_options),
	.state_size = sizeof(struct throttled),
	.victim = CAUSE_POLLING_CHILD,
	.takes_other = true,
	.init = throttled_init,
	.once = throttled_once,
	.fini = throttled_fini,
};
