#include "decode.h"
#include "error.h"
#include "event_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_row_is_known_by_its_group_and_kind(void **state)
{
	assert_true(n_event_rows <= DECODER_EVENTS_MAX);
	for (size_t i = 0; i < n_event_rows; i++) {
		assert_in_range(event_rows[i].kind, EVENT_IRQ_ENTRY, N_EVENT_KINDS - 1);
		// These the collector makes itself.
		assert_int_not_equal(event_rows[i].kind, EVENT_LOST);
		assert_int_not_equal(event_rows[i].kind, EVENT_SKIPPED);
		assert_non_null(event_groups[event_rows[i].group].costs);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(event_rows[i].name, event_rows[j].name);
	}
}

static void groups_are_chosen_by_name(void **state)
{
	struct error error = {0};
	uint32_t groups;

	assert_int_equal(event_groups_parse("irq,csd", &groups, &error), 0);
	assert_int_equal(groups, 1 << GROUP_IRQ | 1 << GROUP_CALLS);
	assert_int_equal(event_groups_parse("", &groups, &error), 0);
	assert_int_equal(groups, (1 << N_EVENT_GROUPS) - 1);
	assert_int_equal(event_groups_parse("-irq,csd", &groups, &error), 0);
	assert_int_equal(
		groups, ((1 << N_EVENT_GROUPS) - 1) & ~(1 << GROUP_IRQ | 1 << GROUP_CALLS));
	assert_int_equal(event_groups_parse("irq,cds", &groups, &error), -EINVAL);
	assert_non_null(
		strstr(error.text, "--events cds: no such group; known are irq, irq_vectors"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_known_by_its_group_and_kind),
		cmocka_unit_test(groups_are_chosen_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
