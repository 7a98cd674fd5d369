#pragma once

// Acts on schedule until its time is up, the victim has ended or it is told to stop.

#include "act_schedule.h"
#include "cause.h"
#include "clock.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct injector_config {
	uint32_t cause; // position in cause_table
	const char *cause_options; // "key=value,..." or NULL
	int core;
	pid_t victim; // 0: an own poller
	struct act_rate rate;
	uint64_t duration_ns;
	uint64_t threshold_ns; // of the poller's gaps
	uint64_t seed;
	size_t capacity; // gaps kept
	const char *gaps_path; // the poller's gap log; "": not written
	volatile const int *stop;
	volatile const int *begin; // not zero: the time of the acts begins; NULL: at once
};

struct injector {
	struct injector_config config;
	const struct cause_ops *ops;
	void *state;
	struct cause_env env;
	struct poller *poller; // NULL: none
	struct injection_log *log;
	struct act_schedule schedule;
	struct clock_point points[2 * CLOCK_POINTS]; // half before, half after
	uint64_t tsc_hz;
	uint64_t start_tsc, end_tsc;
	uint64_t n_sent, n_not_sent;
	uint64_t n_overdue; // not begun: acts before them took longer than the duration
	uint64_t n_late; // begun more than a mean period after they were due
	pid_t tid; // who acts
	bool victim_ended;
	int err; // of an act
};

// Start the poller and make ready. Returns 0 or -errno with one line in error; close it also then.
int injector_open(
	struct injector *injector, const struct injector_config *config, struct error *error);

// SIGINT and SIGTERM are let in between acts only. Returns 0 or -errno with one line in error; what
// was injected before an error stays.
int injector_run(struct injector *injector, struct error *error);

// Returns 0, or -errno with one line in error: the victim is not as it was.
int injector_close(struct injector *injector, struct error *error);
