#pragma once

// Which namespace the PIDs are from that this process sees: in another container they are others.

#include <stdint.h>

// What the kernel calls it (/proc/self/ns/pid); 0 without /proc.
uint64_t pid_namespace(void);
