#pragma once

// What the worker does while no packet comes: look again at once, or sleep until one interrupts.

#include "error.h"
#include "spin.h"

#include <stdbool.h>
#include <stdint.h>

enum { WAIT_NAP_MS = 100 }; // the longest sleep

struct wait {
	bool sleeps; // false: it polls, and none of the rest matters
	bool chooses; // how long it spins, by the gaps between arrivals
	uint64_t spin_ns; // as given; 0 where it chooses, or sleeps at once
	uint64_t spin_ticks; // the same; where it chooses, in force
	struct spin spin;
	uint64_t arrived_tsc; // when packets were there last
	uint64_t nap_ticks; // the longest sleep
	uint64_t n_sleeps, slept_ticks;
};

// "poll", "interrupt" or "adaptive[:TIME]". Returns 0 or -EINVAL with one line in error.
int wait_parse(struct wait *wait, const char *text, struct error *error);

// Before the worker starts.
void wait_init(struct wait *wait, uint64_t tsc_hz);

// Hot path: packets were there at now_tsc.
static inline void wait_arrival(struct wait *wait, uint64_t now_tsc)
{
	if (wait->chooses) {
		spin_note(&wait->spin, now_tsc - wait->arrived_tsc);
		wait->spin_ticks = wait->spin.ticks;
	}
	wait->arrived_tsc = now_tsc;
}
