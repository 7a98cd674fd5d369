#pragma once

// The events of one CPU in one trace instance, in order, as records. Holds one page.

#include "decode.h"
#include "trace_page.h"

struct stream_config {
	const char *instance; // its folder
	int cpu;
	// Whether a hole makes an EVENT_LOST. One among the initiators costs a name and no evidence
	// of what the core itself did: it is counted only.
	bool tells_lost;
	const struct decoder *decoder;
	const struct trace_page_layout *layout;
};

struct stream {
	struct stream_config config;
	int fd;
	uint8_t *bytes; // one page
	struct trace_page page;
	uint64_t last_stamp; // up to here everything was seen, or said to be lost
	uint64_t n_events; // read, ours or not
	uint64_t n_pages;
	int error; // -errno of a read that failed, or -EBADMSG: the page was none
};

// Open the buffer of one CPU. Returns 0 or -errno; a closed stream may be closed again.
int stream_open(struct stream *stream, const struct stream_config *config);
void stream_close(struct stream *stream);

// Say from which stamp of the trace's clock on events were recorded.
void stream_start(struct stream *stream, uint64_t stamp);

// The next record (merge_next). False when nothing is there now, or error is set.
bool stream_next(void *stream, struct event_record *out);

// Events the kernel lost, by its own count: overwritten or dropped. 0 when unknown.
uint64_t stream_lost(const struct stream *stream);
