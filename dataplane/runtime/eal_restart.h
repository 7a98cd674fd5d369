#pragma once

// Start this program again from its first instruction, with the same arguments, on small pages:
// EAL cannot be started twice in one process. Returns 0 or -errno only if that is not possible,
// or was done already. For the moment before anything was printed on standard output.
int eal_restart_on_small_pages(void);

// Set for the program started so.
extern const char *const eal_small_pages_variable;
