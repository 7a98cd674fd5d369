// Conformance: what every cause promises, by standing in the table.

#include "cause_table.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void each_says_what_it_is_and_can_be_found(void **state)
{
	for (size_t i = 0; i < cause_table_size; i++) {
		const struct cause_ops *ops = cause_table[i];
		assert_non_null(ops->name);
		assert_non_null(ops->summary);
		assert_non_null(ops->init);
		assert_non_null(ops->once);
		assert_true(ops->state_size > 0);
		for (const char *at = ops->name; *at != '\0'; at++)
			assert_true(islower((unsigned char)*at) || *at == '-');
		assert_int_equal(cause_find(ops->name, strlen(ops->name)), i);
	}
	assert_int_equal(cause_find("tlb", 3), -1);
	assert_int_equal(cause_find("", 0), -1);
}

static void defaults_and_limits_of_options_agree(void **state)
{
	char options[256];
	struct error error;

	for (size_t i = 0; i < cause_table_size; i++) {
		const struct cause_ops *ops = cause_table[i];
		assert_true(ops->options_size <= sizeof(options));
		assert_int_equal(option_parse_list(ops->name, ops->options, ops->n_options, NULL,
					 options, &error),
			0);
		assert_true(option_parse_list(ops->name, ops->options, ops->n_options, "nothing=1",
				    options, &error) < 0);
	}
}

static void who_needs_a_victim_takes_one(void **state)
{
	for (size_t i = 0; i < cause_table_size; i++) {
		const struct cause_ops *ops = cause_table[i];
		if (ops->victim == CAUSE_NEEDS_VICTIM)
			assert_true(ops->takes_other);
		if (ops->fifo_priority > 0)
			assert_int_equal(ops->place, CAUSE_ON_CORE);
		if (ops->sends_ipi)
			assert_int_equal(ops->place, CAUSE_FROM_AFAR);
	}
}

// A state that was only zeroed: init may not have been reached.
static void what_was_not_made_is_given_back(void **state)
{
	_Alignas(64) char memory[8192] = {0};
	struct error error;

	for (size_t i = 0; i < cause_table_size; i++) {
		assert_true(cause_table[i]->state_size <= sizeof(memory));
		if (cause_table[i]->fini != NULL)
			assert_int_equal(cause_table[i]->fini(memory, &error), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_says_what_it_is_and_can_be_found),
		cmocka_unit_test(defaults_and_limits_of_options_agree),
		cmocka_unit_test(who_needs_a_victim_takes_one),
		cmocka_unit_test(what_was_not_made_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
