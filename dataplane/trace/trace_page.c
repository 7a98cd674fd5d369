#include "trace_page.h"

#include <errno.h>
#include <string.h>

// enum ring_buffer_type and the bits of an event's header and of a page's commit word.
enum {
	TYPE_BITS = 5,
	TYPE_PADDING = 29,
	TYPE_TIME_EXTEND = 30,
	TYPE_TIME_STAMP = 31,
	TIME_BITS = 27,
	HEADER_BYTES = 4,
	COMMIT_MASK = (1 << 27) - 1,
	MISSED_STORED = 1 << 30,
};
static const uint64_t missed_events = UINT64_C(1) << 31;
// An absolute time stamp has 59 bits; those above are the previous event's.
static const uint64_t stamp_bits = (UINT64_C(1) << 59) - 1;

static uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t read_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

int trace_page_open(struct trace_page *page, const struct trace_page_layout *layout,
	const uint8_t *bytes, size_t len)
{
	if (len < layout->data_offset || len > layout->page_bytes)
		return -EBADMSG;
	uint64_t commit = layout->commit_size == 8 ? read_u64(bytes + layout->commit_offset)
						   : read_u32(bytes + layout->commit_offset);
	size_t n_data = commit & COMMIT_MASK;
	if (n_data > len - layout->data_offset)
		return -EBADMSG;
	*page = (struct trace_page){
		.at = bytes + layout->data_offset,
		.end = bytes + layout->data_offset + n_data,
		.stamp = read_u64(bytes + layout->stamp_offset),
		.has_missed = (commit & missed_events) != 0,
	};
	// The number lies behind the data, where a page has room for it.
	if (page->has_missed && (commit & MISSED_STORED) != 0 &&
		len - layout->data_offset - n_data >= sizeof(uint64_t))
		page->n_missed = read_u64(page->end);
	return 0;
}

static uint64_t absolute_stamp(uint64_t stamp, uint64_t previous)
{
	stamp |= previous & ~stamp_bits;
	return stamp < previous && (previous & ~stamp_bits) != 0 ? stamp + stamp_bits + 1 : stamp;
}

bool trace_page_next(struct trace_page *page, struct trace_item *out)
{
	while (page->end - page->at >= HEADER_BYTES) {
		uint32_t header = read_u32(page->at);
		uint32_t type = header & ((1 << TYPE_BITS) - 1);
		uint64_t delta = header >> TYPE_BITS;
		size_t left = (size_t)(page->end - page->at) - HEADER_BYTES;
		uint32_t first = left >= sizeof(first) ? read_u32(page->at + HEADER_BYTES) : 0;
		size_t skipped = 0; // of the payload, before the data
		size_t len = (size_t)type * 4;

		if (type == TYPE_TIME_EXTEND || type == TYPE_TIME_STAMP) {
			uint64_t stamp = ((uint64_t)first << TIME_BITS) + delta;
			page->stamp = type == TYPE_TIME_EXTEND ? page->stamp + stamp
							       : absolute_stamp(stamp, page->stamp);
			page->at += left < 4 ? HEADER_BYTES + left : HEADER_BYTES + 4;
			continue;
		}
		// Padding without a time is the rest of the page.
		if (type == TYPE_PADDING && delta == 0)
			break;
		if (type == 0 || type == TYPE_PADDING)
			len = first;
		if (type == 0)
			skipped = 4;
		if (len > left || len < skipped || (type != TYPE_PADDING && len == 0))
			break;
		page->stamp += delta;
		const uint8_t *data = page->at + HEADER_BYTES + skipped;
		// Lengths are of whole words.
		size_t step = HEADER_BYTES + ((len + 3) & ~(size_t)3);
		page->at = step > (size_t)(page->end - page->at) ? page->end : page->at + step;
		if (type == TYPE_PADDING)
			continue; // discarded by a filter
		*out = (struct trace_item){page->stamp, data, (uint32_t)(len - skipped)};
		return true;
	}
	page->at = page->end;
	return false;
}
