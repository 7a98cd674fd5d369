#pragma once

// Reads one raw page of the kernel's ring buffer (include/linux/ring_buffer.h): a time stamp, how
// much is committed, then events whose times are differences. Whatever the bytes are, nothing
// outside the page is read.

#include "trace_format.h"

// Where the reader is; the page is the caller's and must stay.
struct trace_page {
	const uint8_t *at, *end;
	uint64_t stamp; // of the last event, or of the page
	bool has_missed; // events before this page were overwritten
	uint64_t n_missed; // how many; 0: the kernel had no room to say
};

struct trace_item {
	uint64_t stamp;
	const uint8_t *data; // from common_type on
	uint32_t len;
};

// len: bytes that were read. Returns 0, or -EBADMSG when that is no page.
int trace_page_open(struct trace_page *page, const struct trace_page_layout *layout,
	const uint8_t *bytes, size_t len);

// Returns false at the end of the page.
bool trace_page_next(struct trace_page *page, struct trace_item *out);
