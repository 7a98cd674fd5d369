#pragma once

// The victim: a thread of this process, or a process of its own, that polls one core as taut-noise
// does (poll_gap.h), says all the time that it runs, and can be asked to do something between two
// readings of the clock.

#include "clock.h"
#include "error.h"
#include "injection_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct poller_config {
	int core;
	bool is_child; // a process of its own
	uint64_t tsc_hz;
	uint64_t threshold_ns;
	size_t capacity; // gaps kept
	const struct injection_log *log;
	const char *gaps_path; // "": not written
	struct clock_point first;
};

// What the poller says when it has ended.
struct poller_result {
	uint64_t first_tsc, last_tsc;
	uint64_t n_gaps, gaps_not_logged;
	uint64_t n_felt; // injections that overlap a gap: of the first n_judged
	uint64_t n_judged; // those kept, up to the last gap that is kept
	int error; // -errno, or 0
};

struct poller;

// Start it and wait until it polls. A child dies with the calling thread. Returns 0 or -errno with
// one line in error; close it also then.
int poller_open(const struct poller_config *config, struct poller **out, struct error *error);

// End it and wait for its end. poller_result is then valid. Returns 0 or the first error.
int poller_stop(struct poller *poller);

void poller_close(struct poller *poller);

// Wait until it polls, at most timeout_ticks. False: it did not in that time.
bool poller_is_running(struct poller *poller, uint64_t timeout_ticks);

// Have the poller call function(arg) between two readings of its clock, and wait until it has, at
// most timeout_ticks. False: it had not begun, and will not call it any more. Only for a poller
// that is a thread of this process.
bool poller_call(
	struct poller *poller, void (*function)(void *), void *arg, uint64_t timeout_ticks);

uint64_t poller_last_tsc(const struct poller *poller);

// The id of its thread; the id of its process if that is not this one, else 0.
pid_t poller_tid(const struct poller *poller);
pid_t poller_pid(const struct poller *poller);

const struct poller_result *poller_result(const struct poller *poller);
