#pragma once

// When the other end of a memif goes away, DPDK 22.11's interrupt thread unmaps the shared memory
// at once (memif_disconnect, memif_free_regions), although a polling thread may be in the middle
// of a burst: it then dies of SIGSEGV, the more often the more it is preempted. The driver marks
// the port disconnected before it unmaps, so it is enough that each unmapping by another thread
// waits until the poller has begun a new iteration: runtime replaces munmap() by one that does.

#include <stdint.h>

// Call it before the calling thread polls. n_iterations counts the iterations of its loop and must
// stay valid until poll_grace_leave. Only one poller in a process.
void poll_grace_enter(const uint64_t *n_iterations);

// Call it after the loop, in the same thread: unmapping no longer waits.
void poll_grace_leave(void);
