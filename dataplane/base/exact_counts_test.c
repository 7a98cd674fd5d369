// Every value comes back with its count, in order, whether it fits the array, memory or the file.

#include "exact_counts.h"
#include "test_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

static const char *folder = "/tmp";
static bool needs_names;

// The linker puts this before glibc's (--wrap): a file system without unnamed files, as NFS.
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, mode_t mode);

int __wrap_open64(const char *path, int flags, mode_t mode)
{
	if (needs_names && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_open64(path, flags, mode);
}

struct given {
	struct exact_count *counts;
	size_t n, room;
};

static int take(void *context, const struct exact_count *count)
{
	struct given *given = context;

	if (given->n == given->room) {
		given->room = given->room == 0 ? 1024 : 2 * given->room;
		given->counts = reallocarray(given->counts, given->room, sizeof(*count));
	}
	given->counts[given->n++] = *count;
	return 0;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

// Feed n values made by make, and hold what comes back against the sorted values.
static void check(size_t n, int64_t (*make)(size_t i))
{
	struct exact_counts counts;
	struct given given = {0};
	int64_t *values = malloc((n + 1) * sizeof(*values));
	size_t at = 0;

	assert_int_equal(exact_counts_init(&counts, folder), 0);
	for (size_t i = 0; i < n; i++) {
		values[i] = make(i);
		exact_counts_add(&counts, values[i]);
	}
	assert_int_equal(exact_counts_each(&counts, take, &given), 0);
	qsort(values, n, sizeof(*values), compare);
	for (size_t i = 0; i < given.n; i++) {
		for (uint64_t k = 0; k < given.counts[i].n; k++, at++)
			assert_int_equal(values[at], given.counts[i].value);
		assert_true(i == 0 || given.counts[i].value > given.counts[i - 1].value);
	}
	assert_int_equal(at, n);
	exact_counts_fini(&counts);
	free(given.counts);
	free(values);
}

static int64_t near(size_t i)
{
	return (int64_t)(i * 2654435761u % 5000) - 700;
}

static int64_t edges(size_t i)
{
	static const int64_t values[] = {EXACT_DENSE_LEAST - 1, EXACT_DENSE_LEAST, -1, 0, 1,
		EXACT_DENSE_END - 1, EXACT_DENSE_END, INT64_MIN, INT64_MAX};

	return values[i % (sizeof(values) / sizeof(values[0]))];
}

// Nearly all distinct, far from zero on both sides: more than memory keeps.
static int64_t far(size_t i)
{
	uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return (int64_t)(mixed >> 20) - (INT64_C(1) << 43);
}

static int64_t few_far(size_t i)
{
	return (int64_t)(i % 3 * 5000000000);
}

static void test_values_come_back(void **state)
{
	check(0, near);
	check(20000, near);
	check(1000, edges);
	check(300000, few_far);
}

static void test_more_values_than_memory_holds(void **state)
{
	check(1500000, far);
}

static void test_a_file_system_without_unnamed_files(void **state)
{
	folder = test_folder;
	needs_names = true;
	check(1500000, far);
	needs_names = false;
	folder = "/tmp";
	assert_int_equal(rmdir(test_folder), 0); // nothing is left in it
}

static void test_a_folder_that_cannot_be_written(void **state)
{
	struct exact_counts counts;
	struct given given = {0};

	assert_int_equal(exact_counts_init(&counts, "/proc"), 0);
	for (size_t i = 0; i < 1000000; i++)
		exact_counts_add(&counts, far(i));
	assert_true(exact_counts_each(&counts, take, &given) < 0);
	exact_counts_fini(&counts);
	free(given.counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_come_back),
		cmocka_unit_test(test_more_values_than_memory_holds),
		cmocka_unit_test(test_a_file_system_without_unnamed_files),
		cmocka_unit_test(test_a_folder_that_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
