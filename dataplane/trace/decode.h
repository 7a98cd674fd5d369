#pragma once

// From an event as the kernel wrote it to an event_record, by the offsets of this kernel's formats.

#include "event_table.h"
#include "name_map.h"
#include "trace_format.h"

#include <sched.h>

// Names that came by.
struct trace_names {
	struct name_map threads, irqs, addresses;
};

enum address_tag {
	ADDRESS_FUNCTION = 1,
	ADDRESS_CALLSITE = 2,
};

void trace_names_init(struct trace_names *names);
void trace_names_destroy(struct trace_names *names);

// Where a number is in an event.
struct field_place {
	uint16_t offset;
	uint8_t size; // 0: not asked for
	bool is_signed;
};

struct decoder_event {
	const struct event_row *row;
	struct field_place low[2], high[2], target;
	struct field_place thread, comm, other_thread, other_comm, irq, irq_name, callsite;
	uint32_t min_len;
};

enum { DECODER_EVENTS_MAX = 64 };

struct decoder {
	struct decoder_event events[DECODER_EVENTS_MAX];
	size_t n_events;
	uint8_t by_id[UINT16_MAX + 1]; // index + 1 of events; 0: not ours
	struct field_place pid;
	cpu_set_t watched;
	struct trace_names *names;
};

void decoder_init(struct decoder *decoder, const cpu_set_t *watched, struct trace_names *names);

// Know a row by its format. Returns 0, or -EINVAL: a field the row wants is not there.
int decoder_add(struct decoder *decoder, const struct event_row *row, const char *format_text);

// Hot path: one event noted on cpu. Returns false when it is not ours, or of no watched core.
bool decoder_record(const struct decoder *decoder, const uint8_t *data, uint32_t len, uint16_t cpu,
	uint64_t stamp, struct event_record *out);
