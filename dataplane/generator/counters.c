#include "counters.h"

const struct counter_name counter_names[] = {
	{"due", offsetof(struct counters, due)},
	{"sent", offsetof(struct counters, sent)},
	{"unsent", offsetof(struct counters, unsent)},
	{"abandoned", offsetof(struct counters, abandoned)},
	{"received", offsetof(struct counters, received)},
	{"matched", offsetof(struct counters, matched)},
	{"lost", offsetof(struct counters, lost)},
	{"late", offsetof(struct counters, late)},
	{"duplicates", offsetof(struct counters, duplicates)},
	{"orphans", offsetof(struct counters, orphans)},
	{"out_of_sequence", offsetof(struct counters, out_of_sequence)},
	{"foreign", offsetof(struct counters, foreign)},
	{"void", offsetof(struct counters, void_)},
	{"void_cold", offsetof(struct counters, void_cold)},
	{"cold", offsetof(struct counters, cold)},
	{"unsent_cold", offsetof(struct counters, unsent_cold)},
	{"lost_cold", offsetof(struct counters, lost_cold)},
	{"lost_void", offsetof(struct counters, lost_void)},
	{"sent_late", offsetof(struct counters, sent_late)},
};
const size_t n_counter_names = sizeof(counter_names) / sizeof(counter_names[0]);

uint64_t counters_get(const struct counters *counters, size_t index)
{
	return *(const uint64_t *)((const char *)counters + counter_names[index].offset);
}

void counters_add(struct counters *to, const struct counters *from)
{
	for (size_t i = 0; i < n_counter_names; i++)
		*(uint64_t *)((char *)to + counter_names[i].offset) += counters_get(from, i);
}

bool counters_reconcile(const struct counters *c)
{
	return c->due == c->sent + c->unsent && c->sent == c->matched + c->lost &&
	       c->received == c->matched + c->duplicates + c->orphans + c->late;
}
