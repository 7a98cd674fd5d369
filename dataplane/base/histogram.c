#include "histogram.h"

#include <string.h>
#include <sys/mman.h>

struct histogram *histogram_array_create(size_t n)
{
	size_t size = n * sizeof(struct histogram);
	void *array = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (array == MAP_FAILED)
		return NULL;
	// Fewer TLB misses where the kernel grants huge pages; refusal costs nothing.
	(void)madvise(array, size, MADV_HUGEPAGE);
	// Touched now, so that no page fault comes in the run.
	memset(array, 0, size);
	return array;
}

void histogram_array_destroy(struct histogram *array, size_t n)
{
	if (array != NULL)
		munmap(array, n * sizeof(struct histogram));
}

static void bucket_bounds(size_t index, struct histogram_bucket *out)
{
	size_t above = index - (1 << HISTOGRAM_EXACT_BITS);

	if (index < 1 << HISTOGRAM_EXACT_BITS) {
		out->value = index;
		out->width = 1;
		return;
	}
	unsigned int octave = HISTOGRAM_EXACT_BITS + (unsigned int)(above >> HISTOGRAM_SUB_BITS);
	uint64_t sub = above & ((1 << HISTOGRAM_SUB_BITS) - 1);
	out->width = UINT64_C(1) << (octave - HISTOGRAM_SUB_BITS);
	out->value = (sub + (1 << HISTOGRAM_SUB_BITS)) * out->width;
}

int histogram_next(const struct histogram *histogram, size_t *cursor, struct histogram_bucket *out)
{
	for (size_t i = *cursor; i < HISTOGRAM_N_BUCKETS; i++) {
		if (histogram->counts[i] == 0)
			continue;
		bucket_bounds(i, out);
		out->count = histogram->counts[i];
		*cursor = i + 1;
		return 1;
	}
	*cursor = HISTOGRAM_N_BUCKETS;
	return 0;
}

uint64_t histogram_total(const struct histogram *histogram)
{
	uint64_t total = 0;

	for (size_t i = 0; i < HISTOGRAM_N_BUCKETS; i++)
		total += histogram->counts[i];
	return total;
}

uint64_t histogram_percentile(const struct histogram *histogram, double share)
{
	uint64_t total = histogram_total(histogram);
	double wanted = share * (double)total;
	struct histogram_bucket bucket = {0};
	uint64_t seen = 0;

	for (size_t cursor = 0; histogram_next(histogram, &cursor, &bucket);) {
		seen += bucket.count;
		if ((double)seen >= wanted)
			break;
	}
	return bucket.value;
}
