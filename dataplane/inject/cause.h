#pragma once

// What a cause is: one way to keep a polling thread from its core, made on purpose and noted with
// its times. One per file beside this one, named cause_NAME.c; cause_table.c names them all.
//
// What is noted is what was sent, not what was called: an act that can reach its victim only while
// it runs waits until it does (poller_is_running), and one that does not come about is not noted.

#include "error.h"
#include "injection_log.h"
#include "option_spec.h"
#include "poller.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Where once() runs.
enum cause_place {
	CAUSE_FROM_AFAR, // on another CPU than the victim's
	CAUSE_ON_CORE, // on the victim's, which it takes
};

// Whom it disturbs when no --victim is given.
enum cause_victim {
	CAUSE_POLLING_THREAD, // one of this process
	CAUSE_POLLING_CHILD, // a process of its own
	CAUSE_NEEDS_VICTIM, // none: --victim is required
};

struct cause_env {
	int core; // the victim's
	uint64_t tsc_hz;
	pid_t victim_pid; // --victim, or the own child, or this process
	struct poller *poller; // NULL: the victim is --victim
	struct injection_log *log;
	volatile const int *stop; // not zero: end
};

// Whether an act would find the victim running; waits for it a while. Always true for --victim, of
// which nothing is known.
bool cause_finds_victim(const struct cause_env *env);

// Call it between two looks at something awaited since since_tsc. At first it returns at once, so
// that the end is seen exactly; later it sleeps, since the waiting thread may have a real-time
// priority. With --victim it always sleeps: the victim's generator may be on the waiter's core.
void cause_wait(const struct cause_env *env, uint64_t since_tsc);

struct cause_ops {
	const char *name, *summary;
	const char *arg; // what injection_record.arg holds; NULL: 0
	const struct option_spec *options;
	size_t n_options, options_size, state_size;
	enum cause_place place;
	enum cause_victim victim;
	bool takes_other; // may disturb --victim, or whoever is on the core meanwhile
	bool sends_ipi; // reaches its victim only while that runs
	int fifo_priority; // of who acts on the core; 0: as the caller
	// Returns 0 or -errno with one line in error; fini is called also then. env outlives state.
	int (*init)(
		void *state, const void *options, const struct cause_env *env, struct error *error);
	// One act, noted in env->log. The victim is left as it was. Returns how often it was sent
	// (0 or 1), or -errno; -ESRCH: the victim has ended.
	int (*once)(void *state);
	// Gives back all it made; the poller has ended by then. Returns 0, or -errno with one line
	// in error: the victim is not as it was. NULL: nothing to do.
	int (*fini)(void *state, struct error *error);
};
