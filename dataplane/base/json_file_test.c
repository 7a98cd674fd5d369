#include "json_file.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/json_file_test.XXXXXX";
static int rename_error; // 0: it does what it should

// The linker puts these before glibc's (--wrap): a file that is a mount point.
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_rename(const char *from, const char *to)
{
	if (rename_error == 0)
		return __real_rename(from, to);
	errno = rename_error;
	return -1;
}

static const char *inside(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

// As many numbers as it is told, with an error behind them if there is one.
struct numbers {
	uint64_t n;
	int err;
};

static void print(struct json *json, const void *context)
{
	const struct numbers *numbers = context;

	json_array(json, NULL);
	for (uint64_t i = 0; i < numbers->n; i++)
		json_u64(json, NULL, i);
	json_end(json);
	json_fail(json, numbers->err);
}

static void assert_holds(const char *name, const char *wanted)
{
	char text[64] = "";
	FILE *file = fopen(inside(name), "r");

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, wanted);
}

static int make_folder(void **state)
{
	signal(SIGXFSZ, SIG_IGN);
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
	(void)unlink(inside("a.json"));
	(void)unlink(inside("link"));
	return rmdir(folder); // which says whether anything else is left
}

static void a_document_replaces_the_one_before(void **state)
{
	assert_int_equal(json_file_write(inside("a.json"), print, &(struct numbers){.n = 3}), 0);
	assert_holds("a.json", "[0,1,2]\n");
	assert_int_equal(json_file_write(inside("a.json"), print, &(struct numbers){.n = 1}), 0);
	assert_holds("a.json", "[0]\n");
	assert_int_not_equal(access(inside("a.json.tmp"), F_OK), 0);
}

static void one_that_lacks_something_is_not_written(void **state)
{
	const struct numbers numbers = {.n = 2, .err = -ENOMEM};

	assert_int_equal(json_file_write(inside("a.json"), print, &numbers), -ENOMEM);
	assert_holds("a.json", "[0]\n");
}

// Of more than a stream's buffer: the write that fails is not the last.
static void want_of_room_is_told_as_that_and_leaves_nothing(void **state)
{
	const struct numbers numbers = {.n = 10000};
	struct rlimit old, small;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){.rlim_cur = 1000, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int err = json_file_write(inside("a.json"), print, &numbers);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);

	assert_int_equal(err, -EFBIG);
	assert_holds("a.json", "[0]\n");
	assert_int_not_equal(access(inside("a.json.tmp"), F_OK), 0);
	if (access("/dev/full", W_OK) == 0)
		assert_int_equal(json_file_write("/dev/full", print, &numbers), -ENOSPC);
	assert_int_equal(json_file_write(inside("none/a.json"), print, &numbers), -ENOENT);
}

static void what_is_no_file_is_written_to(void **state)
{
	struct stat status;

	assert_int_equal(symlink("a.json", inside("link")), 0);
	assert_int_equal(json_file_write(inside("link"), print, &(struct numbers){.n = 2}), 0);
	assert_holds("a.json", "[0,1]\n");
	assert_int_equal(lstat(inside("link"), &status), 0);
	assert_true(S_ISLNK(status.st_mode));
}

static void what_replaces_a_file_has_its_mode(void **state)
{
	struct stat status;

	assert_int_equal(chmod(inside("a.json"), 0640), 0);
	assert_int_equal(json_file_write(inside("a.json"), print, &(struct numbers){.n = 3}), 0);
	assert_int_equal(stat(inside("a.json"), &status), 0);
	assert_int_equal(status.st_mode & ALLPERMS, 0640);
}

static void a_file_that_cannot_be_replaced_is_written_to(void **state)
{
	static const int refusals[] = {EBUSY, EPERM, EXDEV};

	for (uint64_t i = 0; i < 3; i++) {
		rename_error = refusals[i];
		int err = json_file_write(inside("a.json"), print, &(struct numbers){.n = 2 - i});
		rename_error = 0;
		assert_int_equal(err, 0);
		assert_holds("a.json", i == 0 ? "[0,1]\n" : i == 1 ? "[0]\n" : "[]\n");
		assert_int_not_equal(access(inside("a.json.tmp"), F_OK), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_replaces_the_one_before),
		cmocka_unit_test(one_that_lacks_something_is_not_written),
		cmocka_unit_test(want_of_room_is_told_as_that_and_leaves_nothing),
		cmocka_unit_test(what_is_no_file_is_written_to),
		cmocka_unit_test(what_replaces_a_file_has_its_mode),
		cmocka_unit_test(a_file_that_cannot_be_replaced_is_written_to),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
