#include "occupy.h"

#include <unistd.h>

static uint64_t last_reading(const struct occupy *occupy)
{
	const struct poller *poller = occupy->env->poller;

	return poller == NULL ? 0 : poller_last_tsc(poller);
}

static uint64_t age_ns(const struct occupy *occupy, uint64_t start, uint64_t last)
{
	return last == 0 || last > start ? 0 : clock_ns(start - last, occupy->env->tsc_hz);
}

int occupy_once(struct occupy *occupy)
{
	const struct cause_env *env = occupy->env;
	uint64_t begin = clock_tsc();
	uint64_t start = begin;
	uint64_t before = begin;
	uint64_t now = begin;

	if (occupy->tid == 0)
		occupy->tid = (uint32_t)gettid();
	uint64_t age = age_ns(occupy, start, last_reading(occupy));
	while (now - begin < occupy->length_ticks) {
		now = clock_tsc();
		uint64_t last = last_reading(occupy);
		if (__builtin_expect(last > start, 0)) {
			// The scheduler gave the core back meanwhile: two acts.
			injection_log_add(env->log, start, before, occupy->tid, age);
			start = now;
			age = age_ns(occupy, start, last);
		}
		before = now;
	}
	injection_log_add(env->log, start, before, occupy->tid, age);
	return 1;
}
