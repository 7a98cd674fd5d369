#pragma once

#include <stdbool.h>

// Whether some process listens on the socket file path, found in the kernel's tables. Asking by a
// connect would be exact, but DPDK 22.11's memif server crashes when a peer hangs up at once
// (eal_intr_thread_main: epoll_ctl on a closed descriptor).
bool unix_socket_is_listening(const char *path);
