// A sibling thread calls membarrier(2) as run-time systems do: the kernel interrupts every CPU that
// runs a thread of the process.

#include "cause.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct membarrier {
	const struct cause_env *env;
	uint32_t tid;
};

static int membarrier_call(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

static int membarrier_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	struct membarrier *membarrier = state;

	*membarrier = (struct membarrier){.env = env, .tid = (uint32_t)gettid()};
	if (membarrier_call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0)
		return 0;
	error_set(error, "membarrier: this kernel refuses it: %s", strerror(errno));
	return -EINVAL;
}

static int membarrier_once(void *state)
{
	struct membarrier *membarrier = state;
	const struct cause_env *env = membarrier->env;

	if (!cause_finds_victim(env))
		return 0;
	uint64_t start = clock_tsc();
	if (membarrier_call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) < 0)
		return -errno;
	injection_log_add(env->log, start, clock_tsc(), membarrier->tid, 0);
	return 1;
}

const struct cause_ops cause_membarrier = {
	.name = "membarrier",
	.summary = "a sibling thread on another CPU calls membarrier(PRIVATE_EXPEDITED)",
	.state_size = sizeof(struct membarrier),
	.sends_ipi = true,
	.init = membarrier_init,
	.once = membarrier_once,
};
