// taut-layout: print the binary records of record_format.h as JSON, so that Python's dtypes can be
// compared with what the compiler made of them (tests/seam).

#include "json_writer.h"
#include "live_format.h"
#include "program.h"
#include "record_format.h"

#include <stddef.h>
#include <stdio.h>

struct field {
	const char *name;
	size_t offset, size;
};

struct layout {
	const char *name;
	size_t size;
	const struct field *fields;
	size_t n_fields;
};

struct constant {
	const char *name;
	int value;
};

struct enumeration {
	const char *name;
	const struct constant *constants;
	size_t n_constants;
};

// Names and offsets can only be taken by a macro.
#define FIELD(type, member)                                                                        \
	{                                                                                          \
#member, offsetof(struct type, member), sizeof(((struct type *)0)->member)         \
	}
#define LAYOUT(type, fields)                                                                       \
	{                                                                                          \
#type, sizeof(struct type), fields, sizeof(fields) / sizeof(fields[0])             \
	}
#define CONSTANT(value)                                                                            \
	{                                                                                          \
#value, value                                                                      \
	}
#define ENUMERATION(type, constants)                                                               \
	{                                                                                          \
#type, constants, sizeof(constants) / sizeof(constants[0])                         \
	}

static const struct field clock_point[] = {
	FIELD(clock_point, tsc),
	FIELD(clock_point, mono_raw_ns),
	FIELD(clock_point, width_ticks),
};

static const struct field record_file_header[] = {
	FIELD(record_file_header, magic),
	FIELD(record_file_header, version),
	FIELD(record_file_header, kind),
	FIELD(record_file_header, record_size),
	FIELD(record_file_header, run_id),
	FIELD(record_file_header, n_flows),
	FIELD(record_file_header, epoch_tsc),
	FIELD(record_file_header, nominal_tsc_hz),
	FIELD(record_file_header, first),
	FIELD(record_file_header, last),
	FIELD(record_file_header, n_records),
	FIELD(record_file_header, thread),
	FIELD(record_file_header, reserved),
};

static const struct field packet_record[] = {
	FIELD(packet_record, seq),
	FIELD(packet_record, due_tsc),
	FIELD(packet_record, sent_tsc),
	FIELD(packet_record, received_tsc),
	FIELD(packet_record, arrival_window),
	FIELD(packet_record, flow),
	FIELD(packet_record, frame_len),
	FIELD(packet_record, flags),
	FIELD(packet_record, direction),
	FIELD(packet_record, reserved),
};

static const struct field gap_record[] = {
	FIELD(gap_record, start_tsc),
	FIELD(gap_record, end_tsc),
	FIELD(gap_record, thread),
	FIELD(gap_record, n_packets),
};

static const struct field stamp_record[] = {
	FIELD(stamp_record, tsc),
	FIELD(stamp_record, seq),
	FIELD(stamp_record, run_id),
	FIELD(stamp_record, window),
	FIELD(stamp_record, direction),
	FIELD(stamp_record, event),
	FIELD(stamp_record, reserved),
};

static const struct field event_record[] = {
	FIELD(event_record, tsc),
	FIELD(event_record, thread),
	FIELD(event_record, cpu),
	FIELD(event_record, kind),
	FIELD(event_record, args),
};

static const struct field injection_record[] = {
	FIELD(injection_record, start_tsc),
	FIELD(injection_record, end_tsc),
	FIELD(injection_record, cause),
	FIELD(injection_record, thread),
	FIELD(injection_record, arg),
};

static const struct field histogram_record[] = {
	FIELD(histogram_record, value_ticks),
	FIELD(histogram_record, width_ticks),
	FIELD(histogram_record, count),
	FIELD(histogram_record, series),
	FIELD(histogram_record, is_void),
	FIELD(histogram_record, is_cold),
	FIELD(histogram_record, direction),
	FIELD(histogram_record, reserved),
};

static const struct field live_header[] = {
	FIELD(live_header, magic),
	FIELD(live_header, version),
	FIELD(live_header, n_directions),
	FIELD(live_header, run_id),
	FIELD(live_header, n_counters),
	FIELD(live_header, tsc_hz),
	FIELD(live_header, first),
	FIELD(live_header, epoch_tsc),
	FIELD(live_header, end_tsc),
	FIELD(live_header, warm_up_ns),
	FIELD(live_header, duration_ns),
	FIELD(live_header, counters_at),
	FIELD(live_header, histograms_at),
	FIELD(live_header, gaps_at),
	FIELD(live_header, names_at),
	FIELD(live_header, n_series),
	FIELD(live_header, n_buckets),
	FIELD(live_header, exact_bits),
	FIELD(live_header, sub_bits),
};

static const struct field frame_record[] = {
	FIELD(frame_record, pos),
	FIELD(frame_record, ts_ns),
	FIELD(frame_record, clock_ns),
	FIELD(frame_record, wire_len),
	FIELD(frame_record, cap_len),
	FIELD(frame_record, n_bytes),
	FIELD(frame_record, flags),
	FIELD(frame_record, reserved),
};

static const struct field time_count_record[] = {
	FIELD(time_count_record, start_ns),
	FIELD(time_count_record, value_ns),
	FIELD(time_count_record, n),
	FIELD(time_count_record, direction),
	FIELD(time_count_record, is_void),
	FIELD(time_count_record, reserved),
};

static const struct field packet_block[] = {
	FIELD(packet_block, n),
	FIELD(packet_block, seq),
	FIELD(packet_block, due_ns),
	FIELD(packet_block, sent_ns),
	FIELD(packet_block, received_ns),
	FIELD(packet_block, arrival_window_ns),
	FIELD(packet_block, flags),
	FIELD(packet_block, direction),
};

static const struct layout layouts[] = {
	LAYOUT(clock_point, clock_point),
	LAYOUT(record_file_header, record_file_header),
	LAYOUT(packet_record, packet_record),
	LAYOUT(gap_record, gap_record),
	LAYOUT(stamp_record, stamp_record),
	LAYOUT(event_record, event_record),
	LAYOUT(injection_record, injection_record),
	LAYOUT(histogram_record, histogram_record),
	LAYOUT(frame_record, frame_record),
	LAYOUT(time_count_record, time_count_record),
	LAYOUT(packet_block, packet_block),
	LAYOUT(live_header, live_header),
};

static const struct constant record_kind[] = {
	CONSTANT(RECORD_PACKET),
	CONSTANT(RECORD_GAP),
	CONSTANT(RECORD_EVENT),
	CONSTANT(RECORD_HISTOGRAM),
	CONSTANT(RECORD_FRAME),
	CONSTANT(RECORD_INJECTION),
	CONSTANT(RECORD_TIME_COUNT),
	CONSTANT(RECORD_PACKET_BLOCK),
	CONSTANT(RECORD_STAMP),
};

static const struct constant packet_flag[] = {
	CONSTANT(PACKET_VOID),
	CONSTANT(PACKET_UNSENT),
	CONSTANT(PACKET_LATE),
	CONSTANT(PACKET_DUPLICATE),
	CONSTANT(PACKET_OUT_OF_SEQUENCE),
	CONSTANT(PACKET_HW_STAMPED),
	CONSTANT(PACKET_COLD),
	CONSTANT(PACKET_ORPHAN),
	CONSTANT(PACKET_AMBIGUOUS),
	CONSTANT(PACKET_TRUNCATED),
};

static const struct constant gap_thread[] = {
	CONSTANT(GAP_GENERATOR),
	CONSTANT(GAP_FORWARDER),
	CONSTANT(GAP_NOISE),
};

static const struct constant stamp_event[] = {
	CONSTANT(STAMP_RECEIVED),
	CONSTANT(STAMP_SENT),
};

static const struct constant histogram_series[] = {
	CONSTANT(SERIES_SERVICE),
	CONSTANT(SERIES_INTENT),
	CONSTANT(SERIES_JITTER),
	CONSTANT(SERIES_DEPARTURE_ERROR),
	CONSTANT(SERIES_INTER_DEPARTURE),
	CONSTANT(SERIES_ARRIVAL_WINDOW),
	CONSTANT(SERIES_IPDV),
	CONSTANT(SERIES_INTER_ARRIVAL),
	CONSTANT(SERIES_POLL_PERIOD),
};

static const struct constant frame_flag[] = {
	CONSTANT(FRAME_TRUNCATED),
};

static const struct constant event_kind[] = {
	CONSTANT(EVENT_IRQ_ENTRY),
	CONSTANT(EVENT_IRQ_EXIT),
	CONSTANT(EVENT_VECTOR_ENTRY),
	CONSTANT(EVENT_VECTOR_EXIT),
	CONSTANT(EVENT_SOFTIRQ_ENTRY),
	CONSTANT(EVENT_SOFTIRQ_EXIT),
	CONSTANT(EVENT_TIMER_ENTRY),
	CONSTANT(EVENT_TIMER_EXIT),
	CONSTANT(EVENT_CALL_QUEUE),
	CONSTANT(EVENT_CALL_ENTRY),
	CONSTANT(EVENT_CALL_EXIT),
	CONSTANT(EVENT_IPI_SEND),
	CONSTANT(EVENT_TLB_FLUSH),
	CONSTANT(EVENT_SWITCH),
	CONSTANT(EVENT_WAKEUP),
	CONSTANT(EVENT_WORK_ENTRY),
	CONSTANT(EVENT_WORK_EXIT),
	CONSTANT(EVENT_PAGE_FAULT),
	CONSTANT(EVENT_SYSCALL_ENTRY),
	CONSTANT(EVENT_SYSCALL_EXIT),
	CONSTANT(EVENT_NMI),
	CONSTANT(EVENT_MACHINE_CHECK),
	CONSTANT(EVENT_IDLE),
	CONSTANT(EVENT_FREQUENCY),
	CONSTANT(EVENT_TICK_STOP),
	CONSTANT(EVENT_LOST),
	CONSTANT(EVENT_SKIPPED),
	CONSTANT(EVENT_NAPI_POLL),
	CONSTANT(EVENT_IPI_SEND_FOR),
};

static const struct constant sent_by[] = {
	CONSTANT(SENT_BY_INTERRUPT),
	CONSTANT(SENT_BY_SOFTIRQ),
};

static const struct constant event_vector[] = {
	CONSTANT(VECTOR_LOCAL_TIMER),
	CONSTANT(VECTOR_RESCHEDULE),
	CONSTANT(VECTOR_CALL_FUNCTION),
	CONSTANT(VECTOR_CALL_FUNCTION_SINGLE),
	CONSTANT(VECTOR_IRQ_WORK),
	CONSTANT(VECTOR_THERMAL),
	CONSTANT(VECTOR_THRESHOLD),
	CONSTANT(VECTOR_DEFERRED_ERROR),
	CONSTANT(VECTOR_ERROR),
	CONSTANT(VECTOR_SPURIOUS),
	CONSTANT(VECTOR_PLATFORM),
};

static const struct enumeration enumerations[] = {
	ENUMERATION(record_kind, record_kind),
	ENUMERATION(packet_flag, packet_flag),
	ENUMERATION(gap_thread, gap_thread),
	ENUMERATION(stamp_event, stamp_event),
	ENUMERATION(histogram_series, histogram_series),
	ENUMERATION(frame_flag, frame_flag),
	ENUMERATION(event_kind, event_kind),
	ENUMERATION(event_vector, event_vector),
	ENUMERATION(sent_by, sent_by),
};

static_assert(sizeof(histogram_series) / sizeof(histogram_series[0]) == N_SERIES,
	"every series is listed");

static void print_layout(struct json *json, const struct layout *layout)
{
	json_object(json, layout->name);
	json_u64(json, "size", layout->size);
	json_u64(json, "version", RECORD_VERSION);
	json_array(json, "fields");
	for (size_t i = 0; i < layout->n_fields; i++) {
		json_object(json, NULL);
		json_text(json, "name", layout->fields[i].name);
		json_u64(json, "offset", layout->fields[i].offset);
		json_u64(json, "size", layout->fields[i].size);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static void print_enumeration(struct json *json, const struct enumeration *enumeration)
{
	json_object(json, enumeration->name);
	json_object(json, "values");
	for (size_t i = 0; i < enumeration->n_constants; i++)
		json_i64(json, enumeration->constants[i].name, enumeration->constants[i].value);
	json_end(json);
	json_end(json);
}

int main(void)
{
	struct json json = {.out = stdout};

	program_start("taut-layout", LOG_LEVEL_WARNING);
	json_object(&json, NULL);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		print_layout(&json, &layouts[i]);
	for (size_t i = 0; i < sizeof(enumerations) / sizeof(enumerations[0]); i++)
		print_enumeration(&json, &enumerations[i]);
	json_end(&json);
	(void)json_done(&json);
	return program_flush();
}
