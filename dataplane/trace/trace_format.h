#pragma once

// What tracefs says about its binary data: events/*/format and events/header_page. Offsets differ
// between kernels, so nothing about them is taken for granted.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TRACE_FIELDS_MAX = 48,
	TRACE_NAME_LEN = 32,
};

struct trace_field {
	char name[TRACE_NAME_LEN];
	uint16_t offset;
	uint32_t size; // of a page's data more than 64 KiB
	bool is_signed;
	bool is_located; // __data_loc: 16 bits of offset below 16 bits of length
};

struct trace_format {
	uint16_t id;
	size_t n_fields;
	struct trace_field fields[TRACE_FIELDS_MAX];
};

// Parse an event's format file. Returns 0, or -EINVAL when it is none.
int trace_format_parse(const char *text, struct trace_format *out);

// NULL: the event has no such field in this kernel.
const struct trace_field *trace_format_find(const struct trace_format *format, const char *name);

// Where things are in one page of the ring buffer.
struct trace_page_layout {
	uint16_t stamp_offset, commit_offset, commit_size, data_offset;
	uint32_t page_bytes;
};

// Parse events/header_page of an instance: each has pages of its own size (buffer_subbuf_size_kb).
// Returns 0, or -EINVAL when it is none.
int trace_page_layout_parse(const char *text, struct trace_page_layout *out);
