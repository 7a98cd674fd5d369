#pragma once

// The kernel events taut-trace asks for, one row each: where it is in tracefs, what becomes of its
// fields in an event_record, and what is not known without it.

#include "error.h"
#include "record_format.h"

#include <stdbool.h>
#include <stddef.h>

// What an event belongs to, for --events.
enum event_group {
	GROUP_IRQ,
	GROUP_VECTORS,
	GROUP_SOFTIRQ,
	GROUP_NAPI,
	GROUP_TIMER,
	GROUP_CALLS,
	GROUP_IPI,
	GROUP_TLB,
	GROUP_SWITCH,
	GROUP_WAKEUP,
	GROUP_WORK,
	GROUP_FAULTS,
	GROUP_SYSCALLS,
	GROUP_NMI,
	GROUP_MCE,
	GROUP_POWER,
	GROUP_TICK,
	N_EVENT_GROUPS,
};

// On which CPUs an event is recorded, and what of it.
enum event_scope {
	SCOPE_CORE, // on the watched cores
	SCOPE_THREAD, // there, of the watched threads only
	SCOPE_TARGET, // on any CPU, when its target field is a watched core
	SCOPE_WOKEN, // on any CPU, when it wakes a watched thread or onto a watched core
};

// An argument: the low 32 bits or all of it from a field, the high 32 bits from another.
struct event_arg {
	const char *low, *high; // names of fields; NULL: none
	uint64_t constant; // when low is NULL
};

// What to remember of an event besides the record, so that numbers have names afterwards.
struct event_names {
	const char *thread, *comm; // fields
	const char *other_thread, *other_comm;
	const char *irq, *irq_name;
	const char *callsite; // an address inside a function
	uint8_t functions; // bits: this argument is the address of a function
};

struct event_row {
	const char *name; // folder below events/
	enum event_group group;
	enum event_kind kind;
	enum event_scope scope;
	bool target_is_mask;
	bool is_about_target; // the record's cpu is the target, not where it was noted
	struct event_arg args[2];
	const char *target; // SCOPE_TARGET, SCOPE_WOKEN: the field that names a CPU, or a mask
	struct event_names names;
};

extern const struct event_row event_rows[];
extern const size_t n_event_rows;

struct event_group_info {
	const char *name;
	const char *costs; // what is not known without events of this group
};

extern const struct event_group_info event_groups[N_EVENT_GROUPS];

// "irq,timer" into a set of 1 << enum event_group; "" is all, "-irq,timer" all but these. Returns
// 0, or -EINVAL with one line.
int event_groups_parse(const char *text, uint32_t *out, struct error *error);
