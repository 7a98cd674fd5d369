#pragma once

// Stops a process by SIGSTOP for a time and continues it by SIGCONT. A process that is not ours is
// continued even if we are killed: a keeper process outlives us for that.

#include "cause.h"
#include "error.h"
#include "keeper.h"

struct stop_process {
	const struct cause_env *env;
	uint64_t length_ns;
	uint32_t tid;
	int pidfd;
	struct keeper keeper;
};

// Returns 0 or -errno with one line in error; call stop_process_fini also then.
int stop_process_init(struct stop_process *stop, const struct cause_env *env, uint64_t length_ns,
	struct error *error);

// One act, as once() of struct cause_ops. The time from before SIGSTOP to before SIGCONT is noted
// if all threads were seen to be stopped.
int stop_process_once(struct stop_process *stop);

void stop_process_fini(struct stop_process *stop);
