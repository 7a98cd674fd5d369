#include "pid_namespace.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static void it_is_the_number_in_the_kernels_name(void **state)
{
	char name[64] = "", wanted[64];

	assert_true(readlink("/proc/self/ns/pid", name, sizeof(name) - 1) > 0);
	snprintf(wanted, sizeof(wanted), "pid:[%" PRIu64 "]", pid_namespace());

	assert_string_equal(name, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_number_in_the_kernels_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
