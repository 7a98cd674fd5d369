#pragma once

// Pages and events as the kernel writes them, made by hand.

#include "trace_page.h"

#include <string.h>

// events/irq/irq_handler_entry/format of a 6.18 kernel; the others below are cut down likewise.
static const char irq_format[] =
	"name: irq_handler_entry\nID: 225\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)\n";

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

enum {
	MADE_PAGE_BYTES = 4096,
	MADE_DATA = 16,
};

struct made_page {
	uint8_t bytes[MADE_PAGE_BYTES];
	size_t n; // of data
};

static inline void made_word(struct made_page *page, uint32_t word)
{
	memcpy(page->bytes + MADE_DATA + page->n, &word, sizeof(word));
	page->n += sizeof(word);
}

static inline void made_start(struct made_page *page, uint64_t stamp)
{
	memset(page, 0, sizeof(*page));
	memcpy(page->bytes, &stamp, sizeof(stamp));
}

// The commit word; flags are those of lost events.
static inline void made_commit(struct made_page *page, uint64_t flags)
{
	uint64_t commit = page->n | flags;

	memcpy(page->bytes + 8, &commit, sizeof(commit));
}

// An event of whole words, small enough for its length to be in its header.
static inline void made_event(
	struct made_page *page, uint32_t delta, const void *data, uint32_t len)
{
	made_word(page, delta << 5 | len / 4);
	memcpy(page->bytes + MADE_DATA + page->n, data, len);
	page->n += len;
}

// The same numbers each time (Knuth's MMIX constants), below most.
static inline uint32_t made_number(uint64_t *state, uint32_t most)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % most;
}
