// Every cause, each with its number in injection_record.cause: a new one takes the next number, and
// none changes, because files of earlier runs have it.

#include "cause_table.h"

#include <string.h>
#include <time.h>

enum {
	RUNNING_TIMEOUT_NS = 20000000,
	SPIN_NS = 1000000,
	PAUSE_NS = 50000,
};

extern const struct cause_ops cause_tlb_shootdown;
extern const struct cause_ops cause_membarrier;
extern const struct cause_ops cause_function_call;
extern const struct cause_ops cause_reschedule;
extern const struct cause_ops cause_timer;
extern const struct cause_ops cause_softirq;
extern const struct cause_ops cause_page_fault;
extern const struct cause_ops cause_syscall;
extern const struct cause_ops cause_fifo_preemption;
extern const struct cause_ops cause_preemption;
extern const struct cause_ops cause_stopped;
extern const struct cause_ops cause_throttled;
extern const struct cause_ops cause_vcpu_hog;
extern const struct cause_ops cause_measurer_stall;

const struct cause_ops *const cause_table[] = {
	[0] = &cause_tlb_shootdown,
	[1] = &cause_membarrier,
	[2] = &cause_function_call,
	[3] = &cause_reschedule,
	[4] = &cause_timer,
	[5] = &cause_softirq,
	[6] = &cause_page_fault,
	[7] = &cause_syscall,
	[8] = &cause_fifo_preemption,
	[9] = &cause_preemption,
	[10] = &cause_stopped,
	[11] = &cause_throttled,
	[12] = &cause_vcpu_hog,
	[13] = &cause_measurer_stall,
};

const size_t cause_table_size = sizeof(cause_table) / sizeof(cause_table[0]);

int cause_find(const char *name, size_t name_len)
{
	for (size_t i = 0; i < cause_table_size; i++)
		if (strlen(cause_table[i]->name) == name_len &&
			memcmp(cause_table[i]->name, name, name_len) == 0)
			return (int)i;
	return -1;
}

bool cause_finds_victim(const struct cause_env *env)
{
	return env->poller == NULL ||
	       poller_is_running(env->poller, clock_ticks(RUNNING_TIMEOUT_NS, env->tsc_hz));
}

void cause_wait(const struct cause_env *env, uint64_t since_tsc)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	bool has_poller = env->poller != NULL;

	if (!has_poller || clock_tsc() - since_tsc > clock_ticks(SPIN_NS, env->tsc_hz))
		(void)nanosleep(&pause, NULL);
}
