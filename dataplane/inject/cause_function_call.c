// Reading a counter of another CPU's: the kernel has that CPU run a function for us, and waits. The
// counter is perf's dummy, which counts nothing and costs nothing.

#include "cause.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct function_call {
	const struct cause_env *env;
	int fd;
	uint32_t tid;
};

static int function_call_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	struct function_call *call = state;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
	};

	*call = (struct function_call){.env = env, .tid = (uint32_t)gettid()};
	call->fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, env->core, -1, PERF_FLAG_FD_CLOEXEC);
	if (call->fd >= 0)
		return 0;
	error_set(error,
		"function-call: a counter of core %d is refused: %s; run as root or with "
		"CAP_PERFMON",
		env->core, strerror(errno));
	return -EPERM;
}

static int function_call_once(void *state)
{
	struct function_call *call = state;
	const struct cause_env *env = call->env;
	uint64_t value;

	if (!cause_finds_victim(env))
		return 0;
	uint64_t start = clock_tsc();
	if (read(call->fd, &value, sizeof(value)) < 0)
		return -errno;
	injection_log_add(env->log, start, clock_tsc(), call->tid, 0);
	return 1;
}

static int function_call_fini(void *state, struct error *error)
{
	struct function_call *call = state;

	if (call->env != NULL && call->fd >= 0)
		(void)close(call->fd);
	return 0;
}

const struct cause_ops cause_function_call = {
	.name = "function-call",
	.summary = "another CPU has the core run a function (reads a perf counter of it)",
	.state_size = sizeof(struct function_call),
	.takes_other = true,
	.sends_ipi = true,
	.init = function_call_init,
	.once = function_call_once,
	.fini = function_call_fini,
};
