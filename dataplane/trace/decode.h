#pragma once

// From an event as the kernel wrote it to an event_record, by the offsets of this kernel's formats.

#include "event_table.h"
#include "name_map.h"
#include "trace_format.h"

#include <sched.h>

// Names seen in events, for trace.json.
struct trace_names {
	struct name_map threads, irqs, addresses;
};

enum thread_tag {
	THREAD_ASKED = 1, // /proc, for its name
	THREAD_ENDED = 2, // the next name is another thread's
};

enum address_tag {
	ADDRESS_FUNCTION = 1,
	ADDRESS_CALLSITE = 2,
};

// is_long: room for the threads of some hours is taken now, so that memory stays as it is.
void trace_names_init(struct trace_names *names, bool is_long);
void trace_names_destroy(struct trace_names *names);

enum { DECODER_EVENTS_MAX = 64 };

struct decoder;

// names must outlive it. Returns NULL when there is no memory.
struct decoder *decoder_create(const cpu_set_t *watched, struct trace_names *names);

// NULL is a no-op.
void decoder_destroy(struct decoder *decoder);

// Learn a row's offsets from its format file. Returns 0, or -EINVAL: a field the row wants is not
// there.
int decoder_add(struct decoder *decoder, const struct event_row *row, const char *format_text);

// Hot path: one event noted on cpu. Returns false when it is not ours, or of no watched core.
bool decoder_record(const struct decoder *decoder, const uint8_t *data, uint32_t len, uint16_t cpu,
	uint64_t stamp, struct event_record *out);
