#pragma once

// Where tracefs is, and its small files. Where nobody has mounted it, it is mounted for this
// process alone, in a mount namespace of its own: nothing changes for others.

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

enum { TRACEFS_PATH_LEN = 256 };

// Find tracefs or mount it. root (of TRACEFS_PATH_LEN) is where it is. Call it before any thread is
// started. Returns 0 or -errno, with one line in error.
int tracefs_open(char *root, struct error *error);

// Write text to folder/name. Returns 0 or -errno.
int tracefs_write(const char *folder, const char *name, const char *text);

// All of folder/name as a string, which the caller frees; NULL with errno set.
char *tracefs_read(const char *folder, const char *name);

bool tracefs_has(const char *folder, const char *name);

// The name of an instance of process pid, of our PID namespace: taut-<pid>-<namespace>, and with
// -all behind it for all CPUs.
char *tracefs_instance_path(
	const char *root, int pid, bool is_all, char path[static TRACEFS_PATH_LEN]);

// Whether name is such an instance of a process that is gone; an older taut's has no namespace.
// One of another namespace is not: nobody can tell here. comm_of(pid, comm, len) tells the name of
// a process, or returns false when there is none.
bool tracefs_is_stale(const char *name, bool (*comm_of)(int pid, char *comm, size_t len));

// Remove what killed processes of this program left. One in use is refused by the kernel.
void tracefs_remove_stale(const char *root);
