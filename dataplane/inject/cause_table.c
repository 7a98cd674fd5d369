// Every cause. The list itself stands in meson.build, so that adding a cause is one file and one
// line there.

#include "cause_table.h"

#include <string.h>
#include <time.h>

enum {
	RUNNING_TIMEOUT_NS = 20000000,
	SPIN_NS = 1000000,
	PAUSE_NS = 50000,
};

#define MEMBER(name) extern const struct cause_ops cause_##name;
#include "cause_members.h"
#undef MEMBER

#define MEMBER(name) &cause_##name,
const struct cause_ops *const cause_table[] = {
#include "cause_members.h"
};
#undef MEMBER

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
