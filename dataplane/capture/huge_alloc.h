#pragma once

// Tables that are looked up anywhere: on huge pages, where the kernel has them, the processor finds
// their addresses without walking page tables.

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE_BYTES = 2 << 20 };

// Freed with free(). NULL: out of memory.
static inline void *huge_alloc(size_t size)
{
	const size_t page = HUGE_PAGE_BYTES;

	if (size < page)
		return malloc(size);
	size = (size + page - 1) / page * page;
	void *out = aligned_alloc(page, size);
	// A hint: kernels without huge pages refuse it.
	if (out != NULL)
		(void)madvise(out, size, MADV_HUGEPAGE);
	return out;
}
