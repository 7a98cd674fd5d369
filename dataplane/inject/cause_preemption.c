// An ordinary thread on the victim's core: both have the same weight, so that it is the scheduler
// who says when it runs.

#include "occupy.h"

struct preemption_options {
	uint64_t length_ns;
};

static const struct option_spec preemption_specs[] = {
	{
		.name = "length",
		.type = OPTION_DURATION,
		.offset = offsetof(struct preemption_options, length_ns),
		.default_text = "200us",
		.help = "how long it spins",
		.min = 1000,
		.max = 1000000000,
	},
};

static int preemption_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct preemption_options *chosen = options;
	struct occupy *occupy = state;

	*occupy = (struct occupy){
		.env = env, .length_ticks = clock_ticks(chosen->length_ns, env->tsc_hz)};
	return 0;
}

static int preemption_once(void *state)
{
	return occupy_once(state);
}

const struct cause_ops cause_preemption = {
	.name = "preemption",
	.summary = "a SCHED_OTHER thread on the core wakes and spins",
	.arg = "age of the victim's last reading of the clock (ns)",
	.options = preemption_specs,
	.n_options = sizeof(preemption_specs) / sizeof(preemption_specs[0]),
	.options_size = sizeof(struct preemption_options),
	.state_size = sizeof(struct occupy),
	.place = CAUSE_ON_CORE,
	.takes_other = true,
	.init = preemption_init,
	.once = preemption_once,
};
