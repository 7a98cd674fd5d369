#include "time_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t second_ns = 1000000000;
static const uint64_t least_block_ns = 1000;

// What doubles hold exactly: analysis/blocks.py asks one for the number of bits.
static const int64_t most_latency_ns = INT64_C(1) << 53;

enum {
	LOG2_BUCKETS = TIME_COUNTS_BITS - 1, // an octave
	N_BUCKETS = (53 - LOG2_BUCKETS + 1) << LOG2_BUCKETS, // below zero, and above
	N_GROUPS = 4, // direction, void
	N_COUNTS = N_GROUPS * 2 * N_BUCKETS,
	FIRST_ROOM = 1 << 12,
	GIVE_AT = 1 << 16, // so many records are worth a call
};

// Packets of one step come together: those of the step at hand are counted in an array, the others
// have records. A step may be at hand several times, and then has several records of a value.
struct time_counts {
	uint64_t *n_of; // of the step at hand: by group, then by bucket
	uint32_t *touched; // which of these are not 0
	size_t n_touched;
	int64_t start_ns; // of the step at hand
	int64_t most_ns; // its greatest latency, counted besides
	unsigned int most_group;
	struct time_count_record *records; // of the other steps
	size_t n, n_room;
	int64_t step_ns;
	struct time_span span;
	time_counts_give *give;
	void *context;
};

int time_counts_create(time_counts_give *give, void *context, struct time_counts **out)
{
	struct time_counts *counts = calloc(1, sizeof(*counts));

	if (counts == NULL)
		return -ENOMEM;
	counts->give = give;
	counts->context = context;
	counts->step_ns = (int64_t)least_block_ns;
	counts->most_ns = INT64_MIN;
	counts->n_room = FIRST_ROOM;
	counts->records = calloc(FIRST_ROOM, sizeof(*counts->records));
	counts->n_of = calloc(N_COUNTS, sizeof(*counts->n_of));
	counts->touched = calloc(N_COUNTS, sizeof(*counts->touched));
	if (counts->records == NULL || counts->n_of == NULL || counts->touched == NULL) {
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
	free(counts->n_of);
	free(counts->touched);
	free(counts);
}

// The multiple of step_ns at or below a time.
static inline int64_t start_of(int64_t ns, int64_t step_ns)
{
	int64_t beyond = ns % step_ns;

	return ns - beyond - (beyond < 0 ? step_ns : 0);
}

// How many bits of a value are not kept. Below zero the buckets are those of ~value.
static inline int shift_of(uint64_t size, int n_bits)
{
	int size_bits = size == 0 ? 0 : 64 - __builtin_clzll(size);

	return size_bits > n_bits ? size_bits - n_bits : 0;
}

static inline size_t bucket_of(int64_t value)
{
	uint64_t size = (uint64_t)(value < 0 ? ~value : value);
	int shift = shift_of(size, TIME_COUNTS_BITS);

	return ((size_t)shift << LOG2_BUCKETS) + (size >> shift) + (value < 0 ? N_BUCKETS : 0);
}

// As rounded_down of analysis/blocks.py.
static int64_t rounded_down(int64_t value, int n_bits)
{
	int shift = shift_of((uint64_t)(value < 0 ? ~value : value), n_bits);

	return (int64_t)((uint64_t)value & UINT64_MAX << shift);
}

// The least value of a bucket.
static int64_t edge_of(size_t bucket)
{
	bool is_negative = bucket >= N_BUCKETS;
	uint64_t at = bucket - (is_negative ? N_BUCKETS : 0);
	uint64_t shift = at >> LOG2_BUCKETS;

	shift -= shift > 0;
	int64_t size = (int64_t)((at - (shift << LOG2_BUCKETS)) << shift);
	return is_negative ? -size - (INT64_C(1) << shift) : size;
}

static int make_room(struct time_counts *counts, size_t n_more)
{
	size_t n_room = counts->n_room;

	while (n_room < counts->n + n_more)
		n_room += n_room / 2;
	if (n_room == counts->n_room)
		return 0;
	struct time_count_record *records = reallocarray(counts->records, n_room, sizeof(*records));
	if (records == NULL)
		return -ENOMEM;
	counts->records = records;
	counts->n_room = n_room;
	return 0;
}

static void put(struct time_counts *counts, unsigned int group, int64_t value_ns, uint64_t n)
{
	counts->records[counts->n++] = (struct time_count_record){
		.start_ns = counts->start_ns,
		.value_ns = value_ns,
		.n = n,
		.direction = (uint8_t)(group >> 1),
		.is_void = group & 1,
	};
}

// Put the step at hand to the others. Returns 0 or -ENOMEM.
static int leave_step(struct time_counts *counts)
{
	int err = make_room(counts, counts->n_touched + 1);

	if (err < 0)
		return err;
	for (size_t i = 0; i < counts->n_touched; i++) {
		uint32_t at = counts->touched[i];
		put(counts, at / (2 * N_BUCKETS), edge_of(at % (2 * N_BUCKETS)), counts->n_of[at]);
		counts->n_of[at] = 0;
	}
	if (counts->most_ns != INT64_MIN)
		put(counts, counts->most_group,
			rounded_down(counts->most_ns, TIME_COUNTS_MOST_BITS), 1);
	counts->n_touched = 0;
	counts->most_ns = INT64_MIN;
	return 0;
}

static inline void count(struct time_counts *counts, unsigned int group, int64_t value, uint64_t n)
{
	size_t at = group * (size_t)(2 * N_BUCKETS) + bucket_of(value);

	if (counts->n_of[at] == 0)
		counts->touched[counts->n_touched++] = (uint32_t)at;
	counts->n_of[at] += n;
}

// Count a latency of the step at hand n times; the greatest one is kept as it is.
static inline void count_in_step(
	struct time_counts *counts, unsigned int group, int64_t value, uint64_t n)
{
	if (value > counts->most_ns) {
		if (counts->most_ns != INT64_MIN)
			count(counts, counts->most_group, counts->most_ns, 1);
		counts->most_ns = value;
		counts->most_group = group;
		n--;
	}
	if (n > 0)
		count(counts, group, value, n);
}

// Bring all records into steps of step_ns. There are never more of them than before, so they are
// written over those that were read.
static int recount(struct time_counts *counts, int64_t step_ns)
{
	int err = leave_step(counts);
	size_t n = counts->n;

	counts->n = 0;
	counts->step_ns = step_ns;
	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct time_count_record record = counts->records[i];
		int64_t start_ns = start_of(record.start_ns, step_ns);
		if (start_ns != counts->start_ns)
			err = leave_step(counts);
		counts->start_ns = start_ns;
		count_in_step(counts, (unsigned int)record.direction << 1 | record.is_void,
			record.value_ns, record.n);
	}
	return err < 0 ? err : leave_step(counts);
}

static uint64_t span_ns(const struct time_counts *counts)
{
	return (uint64_t)counts->span.last_ns - (uint64_t)counts->span.first_ns + 1;
}

// The time is outside the trial as it was seen so far.
static int widen(struct time_counts *counts, int64_t ns)
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
	return step_ns == counts->step_ns ? 0 : recount(counts, step_ns);
}

static int give_all(struct time_counts *counts)
{
	int err = counts->n > 0 ? counts->give(counts->context, counts->records, counts->n) : 0;

	counts->n = 0;
	return err;
}

static int enter_step(struct time_counts *counts, int64_t start_ns)
{
	int err = leave_step(counts);

	counts->start_ns = start_ns;
	// A trial only grows: steps of a second remain.
	if (err == 0 && counts->step_ns == second_ns && counts->n >= GIVE_AT)
		err = give_all(counts);
	return err;
}

int time_counts_add(struct time_counts *counts, int64_t sent_ns, int64_t latency_ns,
	uint8_t direction, bool is_void)
{
	int err = 0;

	// Its step would begin before the least time there is.
	if (sent_ns < INT64_MIN + second_ns || latency_ns <= -most_latency_ns ||
		latency_ns >= most_latency_ns)
		return -ERANGE;
	if (!counts->span.is_any || sent_ns < counts->span.first_ns ||
		sent_ns > counts->span.last_ns)
		err = widen(counts, sent_ns);
	if (err == 0 && (uint64_t)sent_ns - (uint64_t)counts->start_ns >= (uint64_t)counts->step_ns)
		err = enter_step(counts, start_of(sent_ns, counts->step_ns));
	if (err == 0)
		count_in_step(counts, (unsigned int)direction << 1 | is_void, latency_ns, 1);
	return err;
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

int time_counts_end(struct time_counts *counts)
{
	if (!counts->span.is_any)
		return 0;
	int err = recount(counts, block_ns(counts));
	return err < 0 ? err : give_all(counts);
}
