#pragma once

// A child that only waits for this process to end, however it ends, and then removes the trace
// instances: events left switched on would slow every process until somebody notices.

#include <sys/types.h>

struct keeper {
	pid_t pid; // 0: none
	int pipe; // closed, it ends the keeper
};

// Start it before files are opened and threads started. paths: n folders that may come to exist,
// read now. Returns 0 or -errno.
int keeper_start(struct keeper *keeper, const char *const *paths, int n);

// End it; it removes what is still there.
void keeper_stop(struct keeper *keeper);
