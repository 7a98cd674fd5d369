#include "trace_page.h"
#include "trace_test_env.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const uint64_t missed = UINT64_C(1) << 31;
static const uint64_t stored = UINT64_C(1) << 30;

static struct trace_page_layout layout(void)
{
	struct trace_page_layout found;

	assert_int_equal(trace_page_layout_parse(header_page, &found), 0);
	return found;
}

static struct trace_page opened(const struct made_page *made)
{
	struct trace_page_layout where = layout();
	struct trace_page page;

	assert_int_equal(trace_page_open(&page, &where, made->bytes, MADE_PAGE_BYTES), 0);
	return page;
}

static void the_header_says_where_things_are(void **state)
{
	struct trace_page_layout found = layout();

	assert_int_equal(found.page_bytes, 4096);
	assert_int_equal(found.data_offset, 16);
	assert_int_equal(found.commit_offset, 8);
	assert_int_equal(found.commit_size, 8);
	// With buffer_subbuf_size_kb = 128 (Linux 6.8).
	assert_int_equal(trace_page_layout_parse(
				 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				 "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				 "\tfield: char data;\toffset:16;\tsize:131056;\tsigned:0;\n",
				 &found),
		0);
	assert_int_equal(found.page_bytes, 131072);
	assert_int_equal(trace_page_layout_parse("nonsense\n", &found), -EINVAL);
	assert_int_equal(trace_page_layout_parse("", &found), -EINVAL);
	// A time stamp among the data, or behind them.
	assert_int_equal(trace_page_layout_parse(
				 "\tfield: u64 timestamp;\toffset:9000;\tsize:8;\tsigned:0;\n"
				 "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				 "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n",
				 &found),
		-EINVAL);
}

static void times_add_up_over_small_and_large_differences(void **state)
{
	static const uint32_t data[2] = {7, 8};
	struct made_page made;
	struct trace_item item;

	made_start(&made, 1000);
	made_event(&made, 0, data, 8);
	made_event(&made, 50, data, 8);
	// Extended by 2^27 ticks and 3 more.
	made_word(&made, 3 << 5 | 30);
	made_word(&made, 1);
	made_event(&made, 0, data, 4);
	made_commit(&made, 0);
	struct trace_page page = opened(&made);

	assert_true(trace_page_next(&page, &item));
	assert_int_equal(item.stamp, 1000);
	assert_int_equal(item.len, 8);
	assert_memory_equal(item.data, data, 8);
	assert_true(trace_page_next(&page, &item));
	assert_int_equal(item.stamp, 1050);
	assert_true(trace_page_next(&page, &item));
	assert_int_equal(item.stamp, 1053 + (1 << 27));
	assert_int_equal(item.len, 4);
	assert_false(trace_page_next(&page, &item));
	assert_false(trace_page_next(&page, &item));
}

static void an_absolute_time_keeps_the_bits_it_cannot_hold(void **state)
{
	static const uint64_t high = UINT64_C(3) << 59;
	static const uint32_t data[1] = {7};
	struct made_page made;
	struct trace_item item;

	made_start(&made, high + 1000);
	made_word(&made, 31 | 77 << 5);
	made_word(&made, 5);
	made_event(&made, 0, data, 4);
	made_commit(&made, 0);
	struct trace_page page = opened(&made);

	assert_true(trace_page_next(&page, &item));
	assert_true(item.stamp == high + ((UINT64_C(5) << 27) + 77));
}

static void a_long_event_has_its_length_in_front(void **state)
{
	struct made_page made;
	struct trace_item item;

	made_start(&made, 10);
	made_word(&made, 4 << 5);
	made_word(&made, 4 + 200);
	made.n += 200;
	made_commit(&made, 0);
	struct trace_page page = opened(&made);

	assert_true(trace_page_next(&page, &item));
	assert_int_equal(item.len, 200);
	assert_int_equal(item.stamp, 14);
	assert_ptr_equal(item.data, made.bytes + 16 + 8);
}

static void what_a_filter_discarded_is_passed_over_but_its_time_counts(void **state)
{
	static const uint32_t data[2] = {7, 8};
	struct made_page made;
	struct trace_item item;

	made_start(&made, 100);
	made_word(&made, 5 << 5 | 29);
	made_word(&made, 8);
	made_word(&made, 0);
	made_event(&made, 20, data, 8);
	made_word(&made, 29); // no time: the rest is empty
	made_word(&made, 4000);
	made_commit(&made, 0);
	struct trace_page page = opened(&made);

	assert_true(trace_page_next(&page, &item));
	assert_int_equal(item.stamp, 125);
	assert_memory_equal(item.data, data, 8);
	assert_false(trace_page_next(&page, &item));
}

static void lost_events_are_told_with_their_number_where_there_is_room(void **state)
{
	static const uint64_t n = 385000;
	static const uint32_t data[1] = {7};
	struct made_page made;

	made_start(&made, 100);
	made_event(&made, 0, data, 4);
	memcpy(made.bytes + 16 + made.n, &n, sizeof(n));
	made_commit(&made, missed | stored);
	struct trace_page page = opened(&made);
	assert_true(page.has_missed);
	assert_int_equal(page.n_missed, n);

	made_commit(&made, missed);
	page = opened(&made);
	assert_true(page.has_missed);
	assert_int_equal(page.n_missed, 0);

	made_commit(&made, 0);
	assert_false(opened(&made).has_missed);
}

static void damaged_pages_are_refused_or_end_early(void **state)
{
	struct trace_page_layout where = layout();
	struct made_page made;
	struct trace_page page;
	struct trace_item item;
	uint64_t random = 1;

	made_start(&made, 0);
	made.n = 4081;
	made_commit(&made, 0);
	assert_int_equal(trace_page_open(&page, &where, made.bytes, MADE_PAGE_BYTES), -EBADMSG);
	assert_int_equal(trace_page_open(&page, &where, made.bytes, 15), -EBADMSG);

	for (int i = 0; i < 20000; i++) {
		made_start(&made, 0);
		for (size_t at = 16; at < 200; at++)
			made.bytes[at] = (uint8_t)made_number(&random, 256);
		made.n = 64 + made_number(&random, 80);
		made_commit(&made, 0);
		page = opened(&made);
		while (trace_page_next(&page, &item))
			assert_true(item.data + item.len <= made.bytes + 16 + made.n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_says_where_things_are),
		cmocka_unit_test(times_add_up_over_small_and_large_differences),
		cmocka_unit_test(an_absolute_time_keeps_the_bits_it_cannot_hold),
		cmocka_unit_test(a_long_event_has_its_length_in_front),
		cmocka_unit_test(what_a_filter_discarded_is_passed_over_but_its_time_counts),
		cmocka_unit_test(lost_events_are_told_with_their_number_where_there_is_room),
		cmocka_unit_test(damaged_pages_are_refused_or_end_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
