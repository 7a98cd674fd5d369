#pragma once

// A process that outlives us: when we are killed it puts back what we did to somebody else.

#include <sys/types.h>

struct keeper {
	pid_t pid; // 0: none
	int socket; // its end is ours
};

// put_back(arg) is called in the keeper, of whose memory arg is a copy as it is now. Returns 0 or
// -errno.
int keeper_start(struct keeper *keeper, void (*put_back)(void *arg), void *arg);

// End it; there is nothing left to put back. Without one a no-op.
void keeper_dismiss(struct keeper *keeper);
