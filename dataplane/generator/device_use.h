#pragma once

// What the device under test takes of its core: read before packets are sent and after, never
// between. A core that its kernel lets poll in idle (haltpoll, guest_halt_poll_ns) burns time that
// no process is charged for, so the core is read as well as the process.

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct device_use {
	bool has_process, has_core;
	uint64_t process_ns; // on a core, all threads
	uint64_t idle_poll_ns; // in idle, polling: cpuidle's state POLL
	uint64_t asleep_ns; // in every other state of idle; a sleep counts when it is over
};

// pid 0: the device has no process. cores: the folder of cpu0, cpu1, ...; NULL: the kernel's. A
// kernel without cpuidle says nothing of the core.
void device_use_take(struct device_use *out, pid_t pid, int core, const char *cores);

// What was taken from before to after; has_process and has_core where both have it.
struct device_use device_use_between(
	const struct device_use *before, const struct device_use *after);
