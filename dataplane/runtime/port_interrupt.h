#pragma once

// Receive interrupts: a thread sleeps until a packet comes instead of looking for it. Whoever calls
// ports_arm, ports_sleep or ports_disarm may enter the kernel: that is the one place of the hot
// path that does, and devtools/check_hot_path.py names its one caller.

#include "port.h"

#include <stdbool.h>
#include <stdint.h>

// Whether every port's kind can have receive interrupts; ask before EAL starts. Returns 0 or
// -EINVAL with one line in error. Sets spec->interrupts, so that port_open asks the driver for
// them.
int port_specs_want_interrupts(struct port_spec *specs, size_t n, struct error *error);

// Whether the port has no interrupts before its peer is there: listen then.
bool port_listens_late(const struct port *port);

// Have the port's interrupts wake the calling thread: the one that is going to sleep. Returns 0, or
// -EINVAL with one line in error: this device has none.
int port_listen(struct port *port, struct error *error);

// From now on a packet interrupts. One that came before does not: look once more before sleeping.
void ports_arm(struct port *const *ports, uint16_t n);

// Sleep until a packet or a signal comes, at most for timeout_ms.
void ports_sleep(int timeout_ms);

void ports_disarm(struct port *const *ports, uint16_t n);
