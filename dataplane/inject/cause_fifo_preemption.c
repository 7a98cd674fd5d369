// A SCHED_FIFO thread on the victim's core: the scheduler gives it the core at once.

#include "occupy.h"

struct fifo_preemption_options {
	uint64_t length_ns;
};

static const struct option_spec fifo_preemption_specs[] = {
	{
		.name = "length",
		.type = OPTION_DURATION,
		.offset = offsetof(struct fifo_preemption_options, length_ns),
		.default_text = "100us",
		.help = "how long it keeps the core",
		.min = 1000,
		.max = 50000000, // the kernel takes the core from real-time threads after 950 ms
	},
};

static int fifo_preemption_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct fifo_preemption_options *chosen = options;
	struct occupy *occupy = state;

	*occupy = (struct occupy){
		.env = env, .length_ticks = clock_ticks(chosen->length_ns, env->tsc_hz)};
	return 0;
}

static int fifo_preemption_once(void *state)
{
	return occupy_once(state);
}

const struct cause_ops cause_fifo_preemption = {
	.name = "fifo-preemption",
	.summary = "a SCHED_FIFO thread takes the core and spins",
	.arg = "age of the victim's last reading of the clock (ns)",
	.options = fifo_preemption_specs,
	.n_options = sizeof(fifo_preemption_specs) / sizeof(fifo_preemption_specs[0]),
	.options_size = sizeof(struct fifo_preemption_options),
	.state_size = sizeof(struct occupy),
	.place = CAUSE_ON_CORE,
	.takes_other = true,
	.fifo_priority = 50,
	.init = fifo_preemption_init,
	.once = fifo_preemption_once,
};
