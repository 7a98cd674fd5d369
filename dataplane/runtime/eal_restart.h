#pragma once

// Start this program again from its first instruction, with the same arguments, on small pages:
// EAL cannot be started twice in one process. Returns only if that is not possible or was done
// already, -errno. Call it before anything is printed on standard output.
int eal_restart_on_small_pages(void);

// The environment variable that is set for a program restarted so.
extern const char *const eal_small_pages_variable;
