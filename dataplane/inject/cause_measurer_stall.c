// The measurer itself is kept from its core: what it then measures is void, not slow. The same act
// as cause_stopped.c with another name for the truth, and a victim that has to be named.

#include "stop_process.h"

struct measurer_stall_options {
	uint64_t length_ns;
};

static const struct option_spec measurer_stall_specs[] = {
	{
		.name = "length",
		.type = OPTION_DURATION,
		.offset = offsetof(struct measurer_stall_options, length_ns),
		.default_text = "2ms",
		.help = "from SIGSTOP to SIGCONT",
		.min = 1000,
		.max = UINT64_C(10000000000),
	},
};

static int measurer_stall_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct measurer_stall_options *chosen = options;

	return stop_process_init(state, env, chosen->length_ns, error);
}

static int measurer_stall_once(void *state)
{
	return stop_process_once(state);
}

static int measurer_stall_fini(void *state, struct error *error)
{
	stop_process_fini(state);
	return 0;
}

const struct cause_ops cause_measurer_stall = {
	.name = "measurer-stall",
	.summary = "SIGSTOP and SIGCONT for a taut-generate (--victim PID): the measurer stalls",
	.arg = "PID of the victim",
	.options = measurer_stall_specs,
	.n_options = sizeof(measurer_stall_specs) / sizeof(measurer_stall_specs[0]),
	.options_size = sizeof(struct measurer_stall_options),
	.state_size = sizeof(struct stop_process),
	.victim = CAUSE_NEEDS_VICTIM,
	.takes_other = true,
	.init = measurer_stall_init,
	.once = measurer_stall_once,
	.fini = measurer_stall_fini,
};
