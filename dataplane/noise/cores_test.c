#include "cores.h"
#include "cpu_list.h"
#include "error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// How often this thread was bound to one core that is not its own. Before glibc's (--wrap).
static cpu_set_t home;
static int n_visits;
int __real_sched_setaffinity(pid_t pid, size_t len, const cpu_set_t *cores);
int __wrap_sched_setaffinity(pid_t pid, size_t len, const cpu_set_t *cores);

int __wrap_sched_setaffinity(pid_t pid, size_t len, const cpu_set_t *cores)
{
	n_visits += CPU_COUNT(cores) == 1 && !CPU_EQUAL(cores, &home);
	return __real_sched_setaffinity(pid, len, cores);
}

static char folder[] = "/tmp/cores_test.XXXXXX";
static struct error error;

static void put(const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_folder(void **state)
{
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
	put("online", "");
	put("isolated", "");
	char path[64];
	snprintf(path, sizeof(path), "%s/online", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/isolated", folder);
	unlink(path);
	return rmdir(folder);
}

// As the command line gives them; "" is no core.
static int choose(const char *list, cpu_set_t *out)
{
	cpu_set_t asked;

	CPU_ZERO(&asked);
	if (*list != '\0')
		assert_int_equal(cpu_list_parse(list, &asked), 0);
	return cores_choose(&asked, folder, out, &error);
}

static size_t first_allowed(void)
{
	cpu_set_t allowed;
	size_t core = 0;

	assert_int_equal(cpu_list_reachable(&allowed), 0);
	while (!CPU_ISSET(core, &allowed))
		core++;
	return core;
}

static void isolated_cores_are_the_default(void **state)
{
	cpu_set_t cores;
	char text[32];

	snprintf(text, sizeof(text), "%zu\n", first_allowed());
	put("online", text);
	put("isolated", text);

	assert_int_equal(choose("", &cores), 0);

	assert_int_equal(CPU_COUNT(&cores), 1);
	assert_true(CPU_ISSET(first_allowed(), &cores));
}

// Others may poll on them, at a priority that does not let this thread leave again.
static void cores_are_chosen_without_a_visit(void **state)
{
	cpu_set_t allowed, cores;
	char text[256];

	assert_int_equal(cpu_list_reachable(&allowed), 0);
	cpu_list_format(&allowed, text, sizeof(text));
	put("online", text);
	put("isolated", text);
	assert_int_equal(cpu_list_allowed(&home), 0);
	n_visits = 0;

	assert_int_equal(choose("", &cores), 0);
	assert_true(CPU_EQUAL(&cores, &allowed));
	assert_int_equal(choose(text, &cores), 0);
	assert_true(CPU_EQUAL(&cores, &allowed));

	assert_int_equal(n_visits, 0);
}

static void without_isolation_the_first_allowed_core_is_left_out(void **state)
{
	cpu_set_t allowed, cores;

	put("isolated", "\n");
	assert_int_equal(cpu_list_reachable(&allowed), 0);

	assert_int_equal(choose("", &cores), 0);

	int n = CPU_COUNT(&allowed);
	assert_int_equal(CPU_COUNT(&cores), n > 1 ? n - 1 : 1);
	assert_int_equal(CPU_ISSET(first_allowed(), &cores) != 0, n == 1);
}

static void a_core_that_is_not_online_is_refused_by_name(void **state)
{
	cpu_set_t cores;

	put("online", "0-3\n");

	assert_int_equal(choose("1000", &cores), -EINVAL);

	assert_non_null(strstr(error.text, "core 1000 is not online; online are 0-3"));
}

static void a_core_this_process_may_not_have_is_refused(void **state)
{
	cpu_set_t before, after, cores;

	put("online", "0-1023\n");
	assert_int_equal(cpu_list_allowed(&before), 0);

	assert_int_equal(choose("1023", &cores), -EINVAL);

	assert_non_null(strstr(error.text, "core 1023 is not for this process"));
	assert_int_equal(cpu_list_allowed(&after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(isolated_cores_are_the_default),
		cmocka_unit_test(cores_are_chosen_without_a_visit),
		cmocka_unit_test(without_isolation_the_first_allowed_core_is_left_out),
		cmocka_unit_test(a_core_that_is_not_online_is_refused_by_name),
		cmocka_unit_test(a_core_this_process_may_not_have_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
