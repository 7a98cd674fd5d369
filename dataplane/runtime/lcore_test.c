#include "lcore.h"

#include <rte_config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { BEYOND = RTE_MAX_LCORE + 2 };

static char folder[] = "/tmp/lcore_test.XXXXXX";

// The kernel's are links; what counts is that they are there.
static void add_cpu(int node, int cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/node%d", folder, node);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/node%d/cpu%d", folder, node, cpu);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int make_nodes(void **state)
{
	if (mkdtemp(folder) == NULL)
		return -1;
	for (int cpu = 0; cpu < 4; cpu++)
		add_cpu(cpu / 2, cpu);
	add_cpu(1, BEYOND);
	return 0;
}

static int remove_nodes(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void test_a_core_is_the_lcore_of_its_number(void **state)
{
	assert_int_equal(lcore_of(0, folder), 0);
	assert_int_equal(lcore_of(5, folder), 5);
	assert_int_equal(lcore_of(RTE_MAX_LCORE - 1, folder), RTE_MAX_LCORE - 1);
}

static void test_a_core_beyond_eal_s_numbers_is_an_lcore_of_its_node(void **state)
{
	assert_int_equal(lcore_of(BEYOND, folder), 2);
}

static void test_where_nothing_tells_of_nodes_it_is_lcore_0(void **state)
{
	assert_int_equal(lcore_of(BEYOND, "/nowhere"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_core_is_the_lcore_of_its_number),
		cmocka_unit_test(test_a_core_beyond_eal_s_numbers_is_an_lcore_of_its_node),
		cmocka_unit_test(test_where_nothing_tells_of_nodes_it_is_lcore_0),
	};

	return cmocka_run_group_tests(tests, make_nodes, remove_nodes);
}
