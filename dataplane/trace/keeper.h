#pragma once

// A child that only waits for this process to end, however it ends, and then removes the trace
// instances: events left switched on would slow every process until somebody notices.

struct keeper;

// Start it before files are opened and threads started. paths: n folders that may come to exist,
// read now. Returns 0, or -errno and NULL in *out.
int keeper_start(struct keeper **out, const char *const *paths, int n);

// End and free the keeper; it removes the folders that still exist. NULL is a no-op.
void keeper_stop(struct keeper *keeper);
