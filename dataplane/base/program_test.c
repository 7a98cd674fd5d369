#include "program.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/program_test.XXXXXX";
static struct error error;

static const char *inside(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(inside(name), "w");

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
	static const char *const files[] = {"file", "cpuinfo", "limited"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(inside(files[i]));
	(void)rmdir(inside("out"));
	return rmdir(folder);
}

static void the_folder_is_made_or_there_already(void **state)
{
	struct stat status;

	assert_int_equal(program_make_out(inside("out"), &error), 0);
	assert_int_equal(stat(inside("out"), &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	assert_int_equal(program_make_out(inside("out"), &error), 0);
}

static void a_file_is_no_folder(void **state)
{
	char wanted[128];

	put("file", "");
	assert_int_equal(program_make_out(inside("file"), &error), -EEXIST);

	snprintf(wanted, sizeof(wanted), "--out %s: File exists; name a folder that can be made",
		inside("file"));
	assert_string_equal(error.text, wanted);
	assert_int_equal(program_make_out(inside("file/below"), &error), -ENOTDIR);
	assert_int_equal(program_make_out(inside("none/below"), &error), -ENOENT);
	assert_int_equal(program_make_out("", &error), -ENOENT);
}

// Slashes may be as many as one likes, until the names of the files in it find no room.
static void a_path_without_room_for_names_is_refused(void **state)
{
	char path[PATH_MAX];
	const size_t len = strlen(inside("out"));

	memset(path, '/', sizeof(path));
	snprintf(path + 3000, sizeof(path) - 3000, "%s", inside("out"));
	assert_int_equal(program_make_out(path, &error), 0);
	memset(path, '/', sizeof(path));
	snprintf(path + PATH_MAX - 1 - len, len + 1, "%s", inside("out"));
	assert_int_equal(program_make_out(path, &error), -ENAMETOOLONG);
}

static void signals_are_counted(void **state)
{
	program_n_signals = 0;
	program_catch_signals();
	raise(SIGINT);
	raise(SIGTERM);
	assert_int_equal(program_n_signals, 2);
}

// A signal between the look and the wait is kept for the wait.
static void a_blocked_signal_comes_with_the_wait(void **state)
{
	sigset_t wait_mask;

	program_n_signals = 0;
	program_catch_signals_waiting(&wait_mask);
	raise(SIGTERM);
	assert_int_equal(program_n_signals, 0);
	assert_int_equal(sigsuspend(&wait_mask), -1);
	assert_int_equal(program_n_signals, 1);
	sigprocmask(SIG_SETMASK, &wait_mask, NULL);
}

// In a child: a limit of this process would stay.
static int write_beyond_the_limit(void)
{
	const struct rlimit limit = {.rlim_cur = 4, .rlim_max = 4};

	program_start("test", LOG_LEVEL_ERROR);
	FILE *file = fopen(inside("limited"), "w");
	if (file == NULL || setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 1;
	fputs("more than four", file);
	return fflush(file) == EOF && errno == EFBIG ? 0 : 2;
}

static void a_file_size_limit_is_an_error_of_the_write(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(write_beyond_the_limit());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void an_unstable_clock_is_refused_unless_accepted(void **state)
{
	log_start("test", LOG_LEVEL_ERROR);
	put("cpuinfo", "flags\t\t: fpu tsc constant_tsc nonstop_tsc\n");
	assert_int_equal(program_check_clock(inside("cpuinfo"), false, &error), 0);

	put("cpuinfo", "flags\t\t: fpu tsc constant_tsc\n");
	assert_int_equal(program_check_clock(inside("cpuinfo"), true, &error), 0);
	assert_int_equal(program_check_clock(inside("cpuinfo"), false, &error), -EINVAL);
	assert_non_null(strstr(error.text, "no nonstop_tsc"));
	assert_non_null(strstr(error.text, ", or --accept-unstable-clock"));
}

// In a child: it gives standard output away. A disk that is full is seen at the flush, or before
// when more was printed than the buffer holds.
static int print_to_a_full_disk(size_t n_lines)
{
	log_start("test", LOG_LEVEL_ERROR);
	if (freopen("/dev/null", "w", stderr) == NULL || freopen("/dev/full", "w", stdout) == NULL)
		return 77;
	for (size_t i = 0; i < n_lines; i++)
		printf("{\"format\":1}\n");
	return (int)program_flush();
}

static void output_that_is_not_written_is_a_failure(void **state)
{
	static const size_t n_lines[] = {1, 10000};

	fflush(NULL);
	for (size_t i = 0; i < sizeof(n_lines) / sizeof(n_lines[0]); i++) {
		int status;
		pid_t pid = fork();
		if (pid == 0)
			_exit(print_to_a_full_disk(n_lines[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), EXIT_FAILED);
	}
	assert_int_equal(program_flush(), EXIT_DONE);
}

static int print_to_a_disk_that_was_full(void)
{
	log_start("test", LOG_LEVEL_ERROR);
	if (freopen(inside("file"), "w", stderr) == NULL ||
		freopen("/dev/full", "w", stdout) == NULL)
		return 77;
	printf("{\"format\":1}\n");
	fflush(stdout);
	errno = ENOENT; // of something else
	int status = (int)program_flush();
	return fflush(stderr) == 0 ? status : 78;
}

static void output_that_failed_before_is_given_no_reason(void **state)
{
	char text[128] = "";
	int status;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(print_to_a_disk_that_was_full());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILED);
	FILE *file = fopen(inside("file"), "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_non_null(strstr(text, "standard output: not all of it was written"));
}

// As behind `| tee` that Ctrl-C has ended: files are written after what is printed.
static int print_to_nobody(void)
{
	int ends[2];

	signal(SIGPIPE, SIG_DFL);
	program_start("test", LOG_LEVEL_ERROR);
	if (freopen("/dev/null", "w", stderr) == NULL || pipe(ends) < 0 || close(ends[0]) < 0 ||
		dup2(ends[1], STDOUT_FILENO) < 0)
		return 77;
	printf("{\"format\":1}\n");
	return (int)program_flush();
}

static void output_that_nobody_reads_is_an_error_of_the_write(void **state)
{
	int status;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(print_to_nobody());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILED);
}

static void what_has_no_room_is_the_callers_to_mend(void **state)
{
	log_start("test", LOG_LEVEL_ERROR);
	assert_int_equal(program_not_written("there", -ENOSPC), EXIT_BAD_INPUT);
	assert_int_equal(program_not_written("there", -EFBIG), EXIT_BAD_INPUT);
	assert_int_equal(program_not_written("there", -EIO), EXIT_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_folder_is_made_or_there_already),
		cmocka_unit_test(a_file_is_no_folder),
		cmocka_unit_test(a_path_without_room_for_names_is_refused),
		cmocka_unit_test(signals_are_counted),
		cmocka_unit_test(a_blocked_signal_comes_with_the_wait),
		cmocka_unit_test(a_file_size_limit_is_an_error_of_the_write),
		cmocka_unit_test(an_unstable_clock_is_refused_unless_accepted),
		cmocka_unit_test(output_that_is_not_written_is_a_failure),
		cmocka_unit_test(output_that_failed_before_is_given_no_reason),
		cmocka_unit_test(output_that_nobody_reads_is_an_error_of_the_write),
		cmocka_unit_test(what_has_no_room_is_the_callers_to_mend),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
