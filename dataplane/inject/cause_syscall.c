// The polling thread makes a system call that takes a while: it reads zeros.

#include "cause.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_NS = 100000000 };

struct syscall_options {
	uint64_t bytes;
};

static const struct option_spec syscall_specs[] = {
	{
		.name = "bytes",
		.type = OPTION_UINT,
		.offset = offsetof(struct syscall_options, bytes),
		.default_text = "262144",
		.help = "of zeros read in each act: how long it takes",
		.min = 1,
		.max = 1 << 30,
	},
};

struct syscall_state {
	const struct cause_env *env;
	char *buffer;
	size_t len;
	int fd;
	uint64_t start_tsc, end_tsc;
};

// By the poller.
static void read_zeros(void *arg)
{
	struct syscall_state *call = arg;

	call->start_tsc = clock_tsc();
	if (read(call->fd, call->buffer, call->len) < 0)
		call->start_tsc = 0;
	call->end_tsc = clock_tsc();
}

static int syscall_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct syscall_options *chosen = options;
	struct syscall_state *call = state;

	*call = (struct syscall_state){.env = env, .len = chosen->bytes, .fd = -1};
	call->buffer = malloc(call->len);
	call->fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (call->buffer == NULL || call->fd < 0) {
		error_set(error, "syscall: /dev/zero, %zu bytes: %s", call->len, strerror(errno));
		return -EINVAL;
	}
	// Touched now: a page fault is another cause.
	memset(call->buffer, 1, call->len);
	return 0;
}

static int syscall_once(void *state)
{
	struct syscall_state *call = state;
	const struct cause_env *env = call->env;
	uint64_t timeout_ticks = clock_ticks(TIMEOUT_NS, env->tsc_hz);

	if (!poller_call(env->poller, read_zeros, call, timeout_ticks) || call->start_tsc == 0)
		return 0;
	injection_log_add(env->log, call->start_tsc, call->end_tsc,
		(uint32_t)poller_tid(env->poller), call->len);
	return 1;
}

static int syscall_fini(void *state, struct error *error)
{
	struct syscall_state *call = state;

	free(call->buffer);
	if (call->env != NULL && call->fd >= 0)
		(void)close(call->fd);
	return 0;
}

const struct cause_ops cause_syscall = {
	.name = "syscall",
	.summary = "the polling thread makes a long system call (read of /dev/zero)",
	.arg = "bytes",
	.options = syscall_specs,
	.n_options = sizeof(syscall_specs) / sizeof(syscall_specs[0]),
	.options_size = sizeof(struct syscall_options),
	.state_size = sizeof(struct syscall_state),
	.init = syscall_init,
	.once = syscall_once,
	.fini = syscall_fini,
};
