#include "energy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	RANGE_UJ = 2000000000, // 2 s at 1 kW
	SECOND_NS = 1000000000,
};

static char powercap[] = "/tmp/taut-energy-XXXXXX";
static struct energy before, after, used;

static void make_file(const char *zone, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", powercap, zone);
	(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%s", powercap, zone, name);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, "%s\n", text);
	fclose(file);
}

static void make_zone(const char *zone, const char *name, const char *uj)
{
	make_file(zone, "name", name);
	make_file(zone, "max_energy_range_uj", "2000000000");
	make_file(zone, "energy_uj", uj);
}

static void make_machine(const char *package_uj, const char *dram_uj)
{
	make_zone("intel-rapl:0", "package-0", package_uj);
	make_zone("intel-rapl:0:0", "dram", dram_uj);
	make_zone("intel-rapl-mmio:0", "package-0", package_uj);
	make_file("intel-rapl", "enabled", "1");
}

static void test_each_domain_is_read_once(void **state)
{
	make_machine("1000", "500");
	energy_take(&before, powercap);
	make_machine("41000", "700");
	energy_take(&after, powercap);
	energy_between(&before, &after, SECOND_NS, &used);

	assert_int_equal(used.n, 2);
	assert_string_equal(used.why_not.text, "");
	assert_string_equal(used.domains[0].zone, "intel-rapl:0");
	assert_string_equal(used.domains[0].name, "package-0");
	assert_true(used.domains[0].is_known);
	assert_int_equal(used.domains[0].uj, 40000);
	assert_string_equal(used.domains[1].name, "dram");
	assert_int_equal(used.domains[1].uj, 200);
}

static void test_a_counter_that_came_round_is_followed(void **state)
{
	make_machine("1999999000", "1");
	energy_take(&before, powercap);
	make_machine("500", "1");
	energy_take(&after, powercap);
	energy_between(&before, &after, SECOND_NS, &used);

	assert_true(used.domains[0].is_known);
	assert_int_equal(used.domains[0].uj, 1500);
}

static void test_what_may_have_come_round_twice_is_not_known(void **state)
{
	make_machine("1000", "500");
	energy_take(&before, powercap);
	energy_take(&after, powercap);

	energy_between(&before, &after, RANGE_UJ - 1, &used);
	assert_true(used.domains[0].is_known);
	energy_between(&before, &after, RANGE_UJ, &used);
	assert_false(used.domains[0].is_known);
}

static void test_why_it_is_not_readable_is_said(void **state)
{
	energy_take(&before, "/nonexistent");
	make_machine("1000", "500");
	energy_take(&after, powercap);
	energy_between(&before, &after, SECOND_NS, &used);
	assert_int_equal(used.n, 0);
	assert_string_equal(used.why_not.text, "no powercap domain (intel-rapl) on this machine");

	make_file("intel-rapl:0:0", "energy_uj", "none");
	energy_take(&before, powercap);
	assert_int_equal(before.n, 0);
	assert_string_equal(before.why_not.text, "powercap intel-rapl:0:0: Invalid argument");
}

// Since Linux 5.10 only root reads the counters: from them one can tell what others compute.
static void test_a_user_without_permission_is_told_who_has_it(void **state)
{
	const uid_t nobody = 65534;
	uid_t user = geteuid();
	char path[256];

	make_machine("1000", "500");
	snprintf(path, sizeof(path), "%s/intel-rapl:0/energy_uj", powercap);
	assert_int_equal(chmod(path, 0), 0);
	if (user == 0)
		assert_int_equal(seteuid(nobody), 0);
	energy_take(&before, powercap);
	if (user == 0)
		assert_int_equal(seteuid(user), 0);
	assert_int_equal(chmod(path, 0600), 0);

	assert_int_equal(before.n, 0);
	assert_string_equal(
		before.why_not.text, "powercap intel-rapl:0: Permission denied; root may read it");
}

static void test_domains_that_come_or_go_are_no_measurement(void **state)
{
	make_machine("1000", "500");
	energy_take(&before, powercap);
	make_zone("intel-rapl:1", "package-1", "1");
	energy_take(&after, powercap);
	energy_between(&before, &after, SECOND_NS, &used);

	assert_int_equal(used.n, 0);
	assert_string_equal(used.why_not.text, "powercap domains came or went meanwhile");
}

static int remove_machine(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", powercap);
	return system(command);
}

static int make_folder(void **state)
{
	// For everybody: a test becomes another user.
	return mkdtemp(powercap) == NULL || chmod(powercap, 0755) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_domain_is_read_once),
		cmocka_unit_test(test_a_counter_that_came_round_is_followed),
		cmocka_unit_test(test_what_may_have_come_round_twice_is_not_known),
		cmocka_unit_test(test_why_it_is_not_readable_is_said),
		cmocka_unit_test(test_a_user_without_permission_is_told_who_has_it),
		cmocka_unit_test(test_domains_that_come_or_go_are_no_measurement),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_machine);
}
