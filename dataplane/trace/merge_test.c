#include "merge.h"
#include "trace_test_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 2000 };

struct source {
	uint64_t stamps[MOST];
	size_t n, at;
	uint16_t cpu;
};

static bool source_next(void *opaque, struct event_record *out)
{
	struct source *source = opaque;

	if (source->at == source->n)
		return false;
	*out = (struct event_record){.tsc = source->stamps[source->at++], .cpu = source->cpu};
	return true;
}

static void add(struct source *source, uint64_t stamp)
{
	source->stamps[source->n++] = stamp;
}

static void records_of_all_sources_come_in_the_order_of_time(void **state)
{
	static struct source sources[7];
	void *all[7];
	struct merge *merge;
	struct event_record record;
	uint64_t last = 0;
	uint64_t random = 3;
	size_t n = 0;

	for (int i = 0; i < 7; i++) {
		uint64_t stamp = 0;
		for (int j = 0; j < 100 * (i + 1); j++)
			add(&sources[i], stamp += made_number(&random, 50));
		all[i] = &sources[i];
	}
	assert_int_equal(merge_create(&merge, source_next, all, 7), 0);
	merge_refill(merge);
	while (merge_take(merge, UINT64_MAX, &record)) {
		assert_true(record.tsc >= last);
		last = record.tsc;
		n++;
	}
	assert_int_equal(n, 100 * (1 + 2 + 3 + 4 + 5 + 6 + 7));
	merge_destroy(merge);
}

static void nothing_from_after_the_bound_comes_in_a_round(void **state)
{
	struct source sources[2] = {{.cpu = 0}, {.cpu = 1}};
	void *all[2] = {&sources[0], &sources[1]};
	struct merge *merge;
	struct event_record record;

	add(&sources[0], 10);
	add(&sources[0], 30);
	assert_int_equal(merge_create(&merge, source_next, all, 2), 0);
	merge_refill(merge);
	assert_true(merge_take(merge, 20, &record));
	assert_int_equal(record.tsc, 10);
	assert_false(merge_take(merge, 20, &record));

	// A source that had nothing is asked again in the next round only.
	add(&sources[1], 25);
	merge_refill(merge);
	assert_true(merge_take(merge, 40, &record));
	assert_int_equal(record.tsc, 25);
	assert_int_equal(record.cpu, 1);
	assert_true(merge_take(merge, 40, &record));
	assert_int_equal(record.tsc, 30);
	add(&sources[1], 35);
	assert_false(merge_take(merge, 40, &record));
	merge_destroy(merge);
}

static void no_sources_give_nothing(void **state)
{
	struct merge *merge;
	struct event_record record;

	assert_int_equal(merge_create(&merge, source_next, NULL, 0), 0);
	merge_refill(merge);
	assert_false(merge_take(merge, UINT64_MAX, &record));
	merge_destroy(merge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_all_sources_come_in_the_order_of_time),
		cmocka_unit_test(nothing_from_after_the_bound_comes_in_a_round),
		cmocka_unit_test(no_sources_give_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
