#include "value_counts.h"

#include "histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	N_DENSE = VALUE_DENSE_END - VALUE_DENSE_LEAST,
	DENSE_BYTES = N_DENSE * sizeof(uint32_t),
	FIRST_SLOTS = 1 << 10,
};

int value_counts_init(struct value_counts *counts)
{
	*counts = (struct value_counts){.n_slots = FIRST_SLOTS};
	counts->dense =
		mmap(NULL, DENSE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (counts->dense == MAP_FAILED)
		counts->dense = NULL;
	counts->slots = calloc(FIRST_SLOTS, sizeof(*counts->slots));
	if (counts->dense == NULL || counts->slots == NULL) {
		value_counts_fini(counts);
		return -ENOMEM;
	}
	// Only pages of values that occur are resident: few of most tables.
	(void)madvise(counts->dense, DENSE_BYTES, MADV_NOHUGEPAGE);
	return 0;
}

void value_counts_fini(struct value_counts *counts)
{
	if (counts->dense != NULL)
		munmap(counts->dense, DENSE_BYTES);
	free(counts->slots);
	memset(counts, 0, sizeof(*counts));
}

// Below zero the buckets are those of ~value, so that each has one edge and one width.
uint64_t value_counts_width(int64_t edge)
{
	uint64_t size = (uint64_t)(edge < 0 ? ~edge : edge);

	if (size < UINT64_C(1) << HISTOGRAM_EXACT_BITS)
		return 1;
	return UINT64_C(1) << (63 - __builtin_clzll(size) - HISTOGRAM_SUB_BITS);
}

int64_t value_counts_edge(int64_t value)
{
	return (int64_t)((uint64_t)value & -value_counts_width(value));
}

// Where a value has its place, or would have. The multiplier is Knuth's, 2^64 over the golden
// ratio.
static struct value_count *slot_of(struct value_counts *counts, int64_t value)
{
	size_t at = (size_t)((uint64_t)value * UINT64_C(0x9e3779b97f4a7c15) >> 40);

	while (true) {
		struct value_count *slot = &counts->slots[at++ & (counts->n_slots - 1)];
		if (slot->n == 0 || slot->value == value)
			return slot;
	}
}

static void put(struct value_counts *counts, int64_t value, uint64_t n)
{
	struct value_count *slot = slot_of(counts, value);

	counts->n_used += slot->n == 0;
	slot->value = value;
	slot->n += n;
}

// Put everything into a new table; coarse: put together what is in one bucket.
static int rebuild(struct value_counts *counts, size_t n_slots)
{
	struct value_count *old = counts->slots;
	size_t n_old = counts->n_slots;
	struct value_count *slots = calloc(n_slots, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	counts->slots = slots;
	counts->n_slots = n_slots;
	counts->n_used = 0;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].n > 0)
			put(counts,
				counts->is_coarse ? value_counts_edge(old[i].value) : old[i].value,
				old[i].n);
	free(old);
	return 0;
}

// Buckets have a bound of their own: 2^14 an octave.
static int make_room(struct value_counts *counts)
{
	if (2 * counts->n_used < counts->n_slots)
		return 0;
	if (!counts->is_coarse && counts->n_used >= VALUE_COUNTS_MOST) {
		counts->is_coarse = true;
		return rebuild(counts, counts->n_slots);
	}
	return rebuild(counts, 2 * counts->n_slots);
}

void value_counts_add_rare(struct value_counts *counts, int64_t value)
{
	bool is_dense = value >= VALUE_DENSE_LEAST && value < VALUE_DENSE_END;
	int err = make_room(counts);

	if (err < 0 && counts->error == 0)
		counts->error = err;
	if (counts->error == 0)
		put(counts, counts->is_coarse ? value_counts_edge(value) : value,
			is_dense ? UINT64_C(1) << 32 : 1);
}

static int compare(const void *a, const void *b)
{
	const struct value_count *x = a;
	const struct value_count *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

int value_counts_end(struct value_counts *counts)
{
	size_t n_distinct = counts->n_used;
	size_t n = 0;

	for (size_t i = 0; i < N_DENSE; i++)
		n_distinct += counts->dense[i] > 0;
	counts->is_coarse |= n_distinct > VALUE_COUNTS_MOST;
	for (size_t i = 0; i < counts->n_slots; i++)
		if (counts->slots[i].n > 0)
			counts->slots[n++] = counts->slots[i];
	qsort(counts->slots, n, sizeof(*counts->slots), compare);
	return counts->error;
}

// Adds up neighbours of one bucket before they are given.
struct giving {
	bool is_coarse;
	struct value_count next;
	int (*give)(void *context, const struct value_count *count);
	void *context;
};

static int give_next(const struct giving *giving)
{
	return giving->next.n > 0 ? giving->give(giving->context, &giving->next) : 0;
}

static int add(struct giving *giving, int64_t value, uint64_t n)
{
	int64_t edge = giving->is_coarse ? value_counts_edge(value) : value;
	int err = 0;

	if (giving->next.n == 0 || giving->next.value != edge) {
		err = give_next(giving);
		giving->next = (struct value_count){edge, 0};
	}
	giving->next.n += n;
	return err;
}

// Give those of the array below a value.
static int add_dense(
	struct giving *giving, const struct value_counts *counts, size_t *at, int64_t below)
{
	int err = 0;

	for (; err == 0 && *at < N_DENSE && VALUE_DENSE_LEAST + (int64_t)*at < below; ++*at)
		if (counts->dense[*at] > 0)
			err = add(giving, VALUE_DENSE_LEAST + (int64_t)*at, counts->dense[*at]);
	return err;
}

int value_counts_each(const struct value_counts *counts,
	int (*give)(void *context, const struct value_count *count), void *context)
{
	struct giving giving = {.is_coarse = counts->is_coarse, .give = give, .context = context};
	size_t at = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < counts->n_used; i++) {
		const struct value_count *count = &counts->slots[i];
		err = add_dense(&giving, counts, &at, count->value);
		if (err == 0)
			err = add(&giving, count->value, count->n);
	}
	if (err == 0)
		err = add_dense(&giving, counts, &at, INT64_MAX);
	return err == 0 ? give_next(&giving) : err;
}
