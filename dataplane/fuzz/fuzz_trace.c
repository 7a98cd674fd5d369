// A page of the kernel's ring buffer and the events in it: the first byte chooses the layout.

#include "decode.h"
#include "fuzz.h"
#include "trace_page.h"

#include <string.h>

enum { PAGE_BYTES = 4096, WATCHED = 2, PID_OFFSET = 4 };

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

// Of each way to read an event one: a name in it, two threads, a mask of cores.
static const struct {
	const char *row, *format;
} events[] = {
	{"irq/irq_handler_entry",
		"\nID: 1\n" COMMON "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n"},
	{"sched/sched_switch",
		"\nID: 2\n" COMMON "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
		"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
		"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
		"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"},
	{"ipi/ipi_send_cpumask",
		"\nID: 3\n" COMMON "\tfield:__data_loc cpumask_t cpumask;\toffset:8;\tsize:4;\n"
		"\tfield:void * callsite;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:void * callback;\toffset:24;\tsize:8;\tsigned:0;\n"},
};

static struct decoder *decoder; // of all runs
static struct trace_names names;

static const struct event_row *row_of(const char *name)
{
	const struct event_row *row = event_rows;

	while (strcmp(row->name, name) != 0)
		must(++row < event_rows + n_event_rows, "the event is in the table");
	return row;
}

static void set_up(void)
{
	cpu_set_t watched;

	if (decoder != NULL)
		return;
	CPU_ZERO(&watched);
	CPU_SET(WATCHED, &watched);
	trace_names_init(&names, false);
	decoder = decoder_create(&watched, &names);
	must(decoder != NULL, "memory");
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		must(decoder_add(decoder, row_of(events[i].row), events[i].format) == 0,
			"the format is understood");
}

// An event in memory of its own, so that reading beyond it is seen.
static void decode(const struct trace_item *item)
{
	uint8_t *data = malloc(item->len + (item->len == 0));
	struct event_record record;
	uint32_t thread;

	must(data != NULL, "memory");
	memcpy(data, item->data, item->len);
	if (decoder_record(decoder, data, item->len, 7, item->stamp, &record)) {
		memcpy(&thread, data + PID_OFFSET, sizeof(thread));
		must(record.tsc == item->stamp && record.cpu == 7, "when and where it was noted");
		// A sending may be an interrupt's or a softirq's: byte 2 has its flags.
		if (record.kind == EVENT_IPI_SEND_FOR && (data[2] & 0x58) != 0)
			thread = (uint32_t)((data[2] & 0x48) != 0 ? SENT_BY_INTERRUPT
								  : SENT_BY_SOFTIRQ);
		must(record.thread == thread, "which thread ran");
		must(record.kind > 0 && record.kind < N_EVENT_KINDS, "a kind that is known");
	}
	free(data);
}

static void read_page(const uint8_t *bytes, size_t len, const struct trace_page_layout *layout)
{
	const uint8_t *end = bytes + len, *before = bytes + layout->data_offset;
	struct trace_page page;
	struct trace_item item;

	if (trace_page_open(&page, layout, bytes, len) < 0)
		return;
	must(page.at == before && page.end <= end, "what is committed lies in the page");
	must(page.has_missed || page.n_missed == 0, "none are missed without saying so");
	while (trace_page_next(&page, &item)) {
		must(item.data >= before + 4, "an event comes after its header, and the last one");
		must(item.data + item.len <= page.end, "an event lies in the page");
		before = item.data + item.len;
		decode(&item);
	}
	must(page.at == page.end, "the end is the end");
	must(!trace_page_next(&page, &item), "and stays it");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct trace_page_layout layouts[] = {
		{.commit_offset = 8, .commit_size = 8, .data_offset = 16, .page_bytes = PAGE_BYTES},
		{.commit_offset = 8, .commit_size = 4, .data_offset = 12, .page_bytes = PAGE_BYTES},
	};
	uint8_t *page;

	if (len < 1)
		return 0;
	set_up();
	page = malloc(len - 1 + (len == 1));
	must(page != NULL, "memory");
	memcpy(page, data + 1, len - 1);
	read_page(page, len - 1, &layouts[data[0] % 2]);
	free(page);
	return 0;
}
