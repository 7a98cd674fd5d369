#include "eal.h"
#include "port_kind.h"

#include <rte_errno.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char told[4096];

// The linker puts this before EAL's (--wrap): it keeps the arguments and starts nothing.
int __wrap_rte_eal_init(int argc, char **argv);

int __wrap_rte_eal_init(int argc, char **argv)
{
	size_t len = 0;

	for (int i = 0; i < argc; i++)
		len += (size_t)snprintf(told + len, sizeof(told) - len, " %s", argv[i]);
	rte_errno = EIO;
	return -1;
}

static const char *told_of(const char *port, uint16_t burst, char *extra)
{
	struct port_spec spec;
	struct error error = {0};
	struct eal eal;

	assert_int_equal(port_spec_parse(port, PORT_DEVICE, &spec, &error), 0);
	const struct eal_config config = {
		.program = "eal_test",
		.core = -1,
		.memory_mb = 16,
		.ports = &spec,
		.n_ports = 1,
		.burst = burst,
		.extra = &extra,
		.n_extra = extra != NULL,
	};
	assert_int_equal(eal_start(&config, &eal, &error), -EIO);
	return told;
}

static void test_few_packets_are_asked_of_no_vector_function_of_a_card(void **state)
{
	assert_non_null(
		strstr(told_of("pci:0000:01:00.0", 1, NULL), " --force-max-simd-bitwidth=64"));
	assert_non_null(
		strstr(told_of("pci:0000:01:00.0", 7, NULL), " --force-max-simd-bitwidth=64"));
	assert_null(strstr(told_of("pci:0000:01:00.0", 8, NULL), "simd"));
	assert_null(strstr(told_of("pci:0000:01:00.0", 0, NULL), "simd"));
	assert_null(strstr(told_of("null:x", 1, NULL), "simd"));
}

static void test_what_the_user_gives_is_given_once(void **state)
{
	char extra[] = "--force-max-simd-bitwidth=128";

	assert_null(strstr(told_of("pci:0000:01:00.0", 1, extra), "bitwidth=64"));
	assert_non_null(strstr(told, " --force-max-simd-bitwidth=128"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_packets_are_asked_of_no_vector_function_of_a_card),
		cmocka_unit_test(test_what_the_user_gives_is_given_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
