#include "decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	// pid_max is at most 4 Mi; an hour of forks shall not take memory for each. This is 32 MB.
	THREADS_MAX = 1 << 18,
	THREADS_OF_HOURS = 1 << 12, // 0.5 MB
	IRQS_MAX = 1 << 12,
	ADDRESSES_MAX = 1 << 14,
	// Of the previous thread's of a switch (include/linux/sched.h): EXIT_DEAD and EXIT_ZOMBIE.
	STATES_OF_THE_END = 0x10 | 0x20,
};

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

struct decoder {
	struct decoder_event events[DECODER_EVENTS_MAX];
	size_t n_events;
	uint8_t by_id[UINT16_MAX + 1]; // index + 1 of events; 0: not ours
	struct field_place pid, flags;
	cpu_set_t watched;
	struct trace_names *names;
};

void trace_names_init(struct trace_names *names, bool is_long)
{
	name_map_init(&names->threads, THREADS_MAX);
	name_map_init(&names->irqs, IRQS_MAX);
	name_map_init(&names->addresses, ADDRESSES_MAX);
	// Where there is no memory for them now, it may be there when they come.
	if (is_long)
		(void)name_map_reserve(&names->threads, THREADS_OF_HOURS);
}

void trace_names_destroy(struct trace_names *names)
{
	name_map_destroy(&names->threads);
	name_map_destroy(&names->irqs);
	name_map_destroy(&names->addresses);
}

struct decoder *decoder_create(const cpu_set_t *watched, struct trace_names *names)
{
	struct decoder *decoder = calloc(1, sizeof(*decoder));

	if (decoder == NULL)
		return NULL;
	decoder->watched = *watched;
	decoder->names = names;
	return decoder;
}

void decoder_destroy(struct decoder *decoder)
{
	free(decoder);
}

// Returns false when the event has no such field.
static bool place(const struct trace_format *format, const char *name, struct decoder_event *event,
	struct field_place *out)
{
	if (name == NULL)
		return true;
	const struct trace_field *field = trace_format_find(format, name);
	if (field == NULL || field->size > UINT8_MAX || field->size == 0)
		return false;
	*out = (struct field_place){field->offset, (uint8_t)field->size, field->is_signed};
	uint32_t end = (uint32_t)field->offset + field->size;
	if (end > event->min_len)
		event->min_len = end;
	return true;
}

static bool is_sending(enum event_kind kind)
{
	return kind == EVENT_CALL_QUEUE || kind == EVENT_IPI_SEND_FOR;
}

int decoder_add(struct decoder *decoder, const struct event_row *row, const char *format_text)
{
	struct trace_format format;
	struct decoder_event event = {.row = row};
	const struct event_names *names = &row->names;
	bool is_whole = true;

	if (trace_format_parse(format_text, &format) < 0 || decoder->n_events == DECODER_EVENTS_MAX)
		return -EINVAL;
	for (int i = 0; i < 2; i++) {
		is_whole &= place(&format, row->args[i].low, &event, &event.low[i]);
		is_whole &= place(&format, row->args[i].high, &event, &event.high[i]);
	}
	is_whole &= place(&format, row->target, &event, &event.target);
	is_whole &= place(&format, "common_pid", &event, &decoder->pid);
	is_whole &= place(
		&format, is_sending(row->kind) ? "common_flags" : NULL, &event, &decoder->flags);
	is_whole &= place(&format, names->thread, &event, &event.thread);
	is_whole &= place(&format, names->comm, &event, &event.comm);
	is_whole &= place(&format, names->other_thread, &event, &event.other_thread);
	is_whole &= place(&format, names->other_comm, &event, &event.other_comm);
	is_whole &= place(&format, names->irq, &event, &event.irq);
	is_whole &= place(&format, names->irq_name, &event, &event.irq_name);
	is_whole &= place(&format, names->callsite, &event, &event.callsite);
	if (!is_whole)
		return -EINVAL;
	decoder->events[decoder->n_events++] = event;
	decoder->by_id[format.id] = (uint8_t)decoder->n_events;
	return 0;
}

static uint64_t number(const uint8_t *data, struct field_place at)
{
	uint64_t value = 0;

	memcpy(&value, data + at.offset, at.size < sizeof(value) ? at.size : sizeof(value));
	if (!at.is_signed || at.size >= sizeof(value))
		return value;
	unsigned int unused = 64 - 8 * (unsigned int)at.size;
	return (uint64_t)((int64_t)(value << unused) >> unused);
}

static uint64_t argument(const uint8_t *data, const struct event_arg *arg, struct field_place low,
	struct field_place high)
{
	if (arg->low == NULL)
		return arg->constant;
	uint64_t value = number(data, low);
	return arg->high == NULL ? value : (uint32_t)value | number(data, high) << 32;
}

// What a __data_loc field points at; NULL when it points out of the event.
static const uint8_t *located(
	const uint8_t *data, uint32_t len, struct field_place at, uint32_t *n_bytes)
{
	uint64_t where = number(data, at);
	uint32_t offset = where & 0xffff;

	*n_bytes = (uint32_t)(where >> 16) & 0xffff;
	return offset + *n_bytes <= len ? data + offset : NULL;
}

static void note_thread(struct trace_names *names, const uint8_t *data, struct field_place thread,
	struct field_place comm)
{
	if (thread.size == 0)
		return;
	struct name_entry *entry = name_map_take(&names->threads, (uint32_t)number(data, thread));
	if (entry == NULL || comm.size == 0)
		return;
	const char *name = (const char *)data + comm.offset;
	if ((entry->tag & THREAD_ENDED) == 0) {
		name_entry_set(entry, name, comm.size);
		return;
	}
	name_entry_add(entry, name, comm.size);
	entry->tag &= (uint8_t)~THREAD_ENDED;
}

// A number is given out again: within hours, where pid_max is 32768.
static void note_end(struct trace_names *names, const uint64_t *switch_args)
{
	struct name_entry *entry;

	if ((switch_args[0] >> 32 & STATES_OF_THE_END) == 0)
		return;
	entry = name_map_take(&names->threads, (uint32_t)switch_args[0]);
	if (entry != NULL)
		entry->tag |= THREAD_ENDED;
}

static void note_address(struct trace_names *names, uint64_t address, enum address_tag tag)
{
	struct name_entry *entry = address == 0 ? NULL : name_map_take(&names->addresses, address);

	if (entry != NULL)
		entry->tag = (uint8_t)tag;
}

static void note_names(const struct decoder *decoder, const struct decoder_event *event,
	const uint8_t *data, uint32_t len, const uint64_t *args)
{
	struct trace_names *names = decoder->names;

	note_thread(names, data, event->thread, event->comm);
	note_thread(names, data, event->other_thread, event->other_comm);
	if (event->row->kind == EVENT_SWITCH)
		note_end(names, args);
	for (int i = 0; i < 2; i++)
		if ((event->row->names.functions & 1 << i) != 0)
			note_address(names, args[i], ADDRESS_FUNCTION);
	if (event->callsite.size > 0)
		note_address(names, number(data, event->callsite), ADDRESS_CALLSITE);
	if (event->irq.size == 0)
		return;
	uint32_t n_bytes;
	const uint8_t *text = located(data, len, event->irq_name, &n_bytes);
	struct name_entry *entry = name_map_take(&names->irqs, number(data, event->irq));
	if (text != NULL && entry != NULL)
		name_entry_set(entry, (const char *)text, n_bytes);
}

// The first watched core of a mask, or -1.
static int first_of_mask(const struct decoder *decoder, const uint8_t *mask, uint32_t n_bytes)
{
	for (uint32_t cpu = 0; mask != NULL && cpu < n_bytes * 8 && cpu < CPU_SETSIZE; cpu++)
		if ((mask[cpu / 8] & 1 << cpu % 8) != 0 && CPU_ISSET(cpu, &decoder->watched))
			return (int)cpu;
	return -1;
}

// Where the filters of this kernel could not say what is wanted, this does. -1: not wanted.
static int target_of(const struct decoder *decoder, const struct decoder_event *event,
	const uint8_t *data, uint32_t len)
{
	if (event->row->target_is_mask) {
		uint32_t n_bytes;
		const uint8_t *mask = located(data, len, event->target, &n_bytes);
		return first_of_mask(decoder, mask, n_bytes);
	}
	uint64_t cpu = number(data, event->target);
	if (event->row->scope == SCOPE_WOKEN)
		return (int)cpu;
	return cpu < CPU_SETSIZE && CPU_ISSET(cpu, &decoder->watched) ? (int)cpu : -1;
}

// Who has the core is not who sends where an interrupt or a softirq runs on top of it. Bits of
// common_flags: include/linux/trace_events.h (enum trace_flag_type); these have never changed.
static uint32_t sender_of(uint32_t thread, uint64_t flags)
{
	enum { IN_HARDIRQ = 0x08, IN_SOFTIRQ = 0x10, IN_NMI = 0x40 };

	if ((flags & (IN_HARDIRQ | IN_NMI)) != 0)
		return (uint32_t)SENT_BY_INTERRUPT;
	return (flags & IN_SOFTIRQ) != 0 ? (uint32_t)SENT_BY_SOFTIRQ : thread;
}

bool decoder_record(const struct decoder *decoder, const uint8_t *data, uint32_t len, uint16_t cpu,
	uint64_t stamp, struct event_record *out)
{
	uint16_t id;

	if (len < sizeof(id))
		return false;
	memcpy(&id, data, sizeof(id));
	if (decoder->by_id[id] == 0)
		return false;
	const struct decoder_event *event = &decoder->events[decoder->by_id[id] - 1];
	const struct event_row *row = event->row;
	if (len < event->min_len)
		return false;
	*out = (struct event_record){
		.tsc = stamp,
		.thread = (uint32_t)number(data, decoder->pid),
		.cpu = cpu,
		.kind = (uint16_t)row->kind,
	};
	if (is_sending(row->kind))
		out->thread = sender_of(out->thread, number(data, decoder->flags));
	for (int i = 0; i < 2; i++)
		out->args[i] = argument(data, &row->args[i], event->low[i], event->high[i]);
	if (row->target != NULL) {
		int target = target_of(decoder, event, data, len);
		if (target < 0)
			return false;
		if (row->target_is_mask)
			out->args[0] = (out->args[0] & ~(uint64_t)UINT32_MAX) | (uint32_t)target;
		if (row->is_about_target)
			out->cpu = (uint16_t)target;
	}
	note_names(decoder, event, data, len, out->args);
	return true;
}
