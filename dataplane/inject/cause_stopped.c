// A process stopped by a signal: nothing runs in its stead, and yet it does not run.

#include "stop_process.h"

struct stopped_options {
	uint64_t length_ns;
};

static const struct option_spec stopped_specs[] = {
	{
		.name = "length",
		.type = OPTION_DURATION,
		.offset = offsetof(struct stopped_options, length_ns),
		.default_text = "2ms",
		.help = "from SIGSTOP to SIGCONT",
		.min = 1000,
		.max = UINT64_C(10000000000),
	},
};

static int stopped_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct stopped_options *chosen = options;

	return stop_process_init(state, env, chosen->length_ns, error);
}

static int stopped_once(void *state)
{
	return stop_process_once(state);
}

static int stopped_fini(void *state, struct error *error)
{
	stop_process_fini(state);
	return 0;
}

const struct cause_ops cause_stopped = {
	.name = "stopped",
	.summary = "SIGSTOP and SIGCONT for a process: --victim, else one that only polls",
	.arg = "PID of the victim",
	.options = stopped_specs,
	.n_options = sizeof(stopped_specs) / sizeof(stopped_specs[0]),
	.options_size = sizeof(struct stopped_options),
	.state_size = sizeof(struct stop_process),
	.victim = CAUSE_POLLING_CHILD,
	.takes_other = true,
	.init = stopped_init,
	.once = stopped_once,
	.fini = stopped_fini,
};
