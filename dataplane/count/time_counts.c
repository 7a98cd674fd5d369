#include "time_counts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t second_ns = 1000000000;
static const uint64_t least_block_ns = 1000;

enum {
	FIRST_PLACES = 1 << 12,
	FIRST_ROOM = 1 << 12,
	TIDY_FIRST = 1 << 20, // so many records are worth looking for equal ones
};

// Packets of one step come together: those of the step at hand are found by a small table, which
// stays in the cache. A step may be at hand several times, and then has several records of a value
// until they are added up.
struct time_counts {
	struct time_count_record *records; // those of the step at hand are the last ones
	size_t n, n_room;
	size_t n_tidy; // add up equal records when there are so many
	size_t first; // of the step at hand
	uint32_t *places; // of the step at hand: number of the record from `first` on, plus 1; 0:
			  // free
	size_t n_places; // a power of two
	int64_t step_ns;
	int64_t start_ns; // of the step at hand
	struct time_span span;
};

int time_counts_create(struct time_counts **out)
{
	struct time_counts *counts = calloc(1, sizeof(*counts));

	if (counts == NULL)
		return -ENOMEM;
	counts->step_ns = (int64_t)least_block_ns;
	counts->n_tidy = TIDY_FIRST;
	counts->n_room = FIRST_ROOM;
	counts->n_places = FIRST_PLACES;
	counts->records = calloc(FIRST_ROOM, sizeof(*counts->records));
	counts->places = calloc(FIRST_PLACES, sizeof(*counts->places));
	if (counts->records == NULL || counts->places == NULL) {
		time_counts_destroy(counts);
		return -ENOMEM;
	}
	*out = counts;
	return 0;
}

void time_counts_destroy(struct time_counts *counts)
{
	if (counts == NULL)
		return;
	free(counts->records);
	free(counts->places);
	free(counts);
}

// The multiple of step_ns at or below a time.
static inline int64_t start_of(int64_t ns, int64_t step_ns)
{
	int64_t beyond = ns % step_ns;

	return ns - beyond - (beyond < 0 ? step_ns : 0);
}

static int compare(const void *a, const void *b)
{
	const struct time_count_record *x = a;
	const struct time_count_record *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->direction != y->direction)
		return x->direction < y->direction ? -1 : 1;
	if (x->is_void != y->is_void)
		return x->is_void < y->is_void ? -1 : 1;
	return (x->value_ns > y->value_ns) - (x->value_ns < y->value_ns);
}

// Put the step at hand to the others.
static void leave_step(struct time_counts *counts)
{
	counts->first = counts->n;
	memset(counts->places, 0, counts->n_places * sizeof(*counts->places));
}

// Bring the records into steps of step_ns and into their order, and add up equal ones.
static void tidy(struct time_counts *counts, int64_t step_ns)
{
	struct time_count_record *records = counts->records;
	size_t n = 0;

	for (size_t i = 0; i < counts->n; i++)
		records[i].start_ns = start_of(records[i].start_ns, step_ns);
	qsort(records, counts->n, sizeof(*records), compare);
	for (size_t i = 0; i < counts->n; i++) {
		if (n > 0 && compare(&records[n - 1], &records[i]) == 0)
			records[n - 1].n += records[i].n;
		else
			records[n++] = records[i];
	}
	counts->n = n;
	counts->step_ns = step_ns;
	counts->n_tidy = 2 * n > TIDY_FIRST ? 2 * n : TIDY_FIRST;
	leave_step(counts);
}

static uint64_t span_ns(const struct time_counts *counts)
{
	return (uint64_t)counts->span.last_ns - (uint64_t)counts->span.first_ns + 1;
}

// The time is outside the trial as it was seen so far.
static void widen(struct time_counts *counts, int64_t ns)
{
	int64_t step_ns = counts->step_ns;

	if (!counts->span.is_any || ns < counts->span.first_ns)
		counts->span.first_ns = ns;
	if (!counts->span.is_any || ns > counts->span.last_ns)
		counts->span.last_ns = ns;
	counts->span.is_any = true;
	while (step_ns < second_ns &&
		span_ns(counts) / TIME_COUNTS_LEAST_BLOCKS >= 10 * (uint64_t)step_ns)
		step_ns *= 10;
	if (step_ns != counts->step_ns) {
		tidy(counts, step_ns);
		counts->start_ns = start_of(ns, step_ns);
	}
}

static void enter_step(struct time_counts *counts, int64_t start_ns)
{
	if (counts->n >= counts->n_tidy)
		tidy(counts, counts->step_ns);
	else
		leave_step(counts);
	counts->start_ns = start_ns;
}

// As rounded_down of analysis/blocks.py, which asks a double for the number of bits.
static inline int64_t rounded_down(int64_t value)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	int n_bits = size == 0 ? 0 : 64 - __builtin_clzll(size);

	if (n_bits > 53)
		(void)frexp((double)value, &n_bits);
	if (n_bits <= TIME_COUNTS_BITS)
		return value;
	return (int64_t)((uint64_t)value & UINT64_MAX << (n_bits - TIME_COUNTS_BITS));
}

// Where a record of the step at hand has its place, or would have. The multiplier is Knuth's, 2^64
// over the golden ratio (TAOCP 3, 6.4).
static inline uint32_t *place_of(
	const struct time_counts *counts, const struct time_count_record *record)
{
	uint64_t key = (uint64_t)record->value_ns << 2 | (uint64_t)record->direction << 1 |
		       record->is_void;
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; at++) {
		uint32_t *place = &counts->places[at & (counts->n_places - 1)];
		if (*place == 0)
			return place;
		const struct time_count_record *other =
			&counts->records[counts->first + *place - 1];
		if (other->value_ns == record->value_ns && other->direction == record->direction &&
			other->is_void == record->is_void)
			return place;
	}
}

static int double_places(struct time_counts *counts)
{
	uint32_t *places = calloc(2 * counts->n_places, sizeof(*places));

	if (places == NULL)
		return -ENOMEM;
	free(counts->places);
	counts->places = places;
	counts->n_places *= 2;
	for (size_t i = counts->first; i < counts->n; i++)
		*place_of(counts, &counts->records[i]) = (uint32_t)(i - counts->first + 1);
	return 0;
}

// The first record of a value in the step at hand.
static int append(struct time_counts *counts, const struct time_count_record *record)
{
	if (counts->n == counts->n_room) {
		size_t n_room = counts->n_room + counts->n_room / 2;
		struct time_count_record *records =
			reallocarray(counts->records, n_room, sizeof(*records));
		if (records == NULL)
			return -ENOMEM;
		counts->records = records;
		counts->n_room = n_room;
	}
	counts->records[counts->n++] = *record;
	return 2 * (counts->n - counts->first) > counts->n_places ? double_places(counts) : 0;
}

int time_counts_add(struct time_counts *counts, int64_t sent_ns, int64_t latency_ns,
	uint8_t direction, bool is_void)
{
	// Its step would begin before the least time there is.
	if (sent_ns < INT64_MIN + second_ns)
		return -ERANGE;
	if (!counts->span.is_any || sent_ns < counts->span.first_ns ||
		sent_ns > counts->span.last_ns)
		widen(counts, sent_ns);
	if ((uint64_t)sent_ns - (uint64_t)counts->start_ns >= (uint64_t)counts->step_ns)
		enter_step(counts, start_of(sent_ns, counts->step_ns));
	struct time_count_record record = {
		.start_ns = counts->start_ns,
		.value_ns = rounded_down(latency_ns),
		.n = 1,
		.direction = direction,
		.is_void = is_void,
	};
	uint32_t *place = place_of(counts, &record);
	if (*place > 0) {
		counts->records[counts->first + *place - 1].n++;
		return 0;
	}
	*place = (uint32_t)(counts->n - counts->first + 1);
	return append(counts, &record);
}

struct time_span time_counts_span(const struct time_counts *counts)
{
	return counts->span;
}

// As block_length_ns of analysis/blocks.py: the longest of 1, 2, 5, 10 ... us that cuts the trial
// into TIME_COUNTS_LEAST_BLOCKS or more; here none is longer than a second.
static int64_t block_ns(const struct time_counts *counts)
{
	static const uint64_t first_digits[] = {1, 2, 5};
	uint64_t most = span_ns(counts) / TIME_COUNTS_LEAST_BLOCKS;
	uint64_t longest = least_block_ns;

	for (uint64_t decade = least_block_ns; decade < (uint64_t)second_ns; decade *= 10)
		for (int i = 0; i < 3; i++)
			if (first_digits[i] * decade <= most)
				longest = first_digits[i] * decade;
	return most >= (uint64_t)second_ns ? second_ns : (int64_t)longest;
}

size_t time_counts_end(struct time_counts *counts, const struct time_count_record **records)
{
	if (counts->span.is_any)
		tidy(counts, block_ns(counts));
	*records = counts->records;
	return counts->n;
}
