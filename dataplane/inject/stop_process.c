#include "stop_process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

enum {
	TIMEOUT_NS = 100000000,
	STAT_LEN = 256, // what stands before the times is within it
};

static void go_on(void *arg)
{
	const struct stop_process *stop = arg;

	(void)pidfd_send_signal(stop->pidfd, SIGCONT, NULL, 0);
}

// Fill text, of STAT_LEN, with what stands behind the name, which may hold any character, in a stat
// file: from the state on. False: it has ended.
static bool read_stat(int folder, const char *id, char *text)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/stat", id);
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, STAT_LEN - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *behind = strrchr(text, ')');
	if (behind == NULL || behind[1] != ' ')
		return false;
	memmove(text, behind + 2, strlen(behind + 2) + 1);
	return true;
}

static char state_of(int folder, const char *tid)
{
	char text[STAT_LEN];

	return read_stat(folder, tid, text) ? *text : 'X';
}

// A shell (or sudo) sees that it is stopped and takes the terminal back: continued, it would be in
// the background, and the next time it reads from the terminal be stopped for good (SIGTTIN).
static bool is_in_foreground(pid_t pid)
{
	char path[32], text[STAT_LEN];
	int group, terminal, foreground;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return read_stat(AT_FDCWD, path, text) &&
	       sscanf(text, "%*c %*d %d %*d %d %d", &group, &terminal, &foreground) == 3 &&
	       terminal != 0 && group == foreground;
}

int stop_process_init(struct stop_process *stop, const struct cause_env *env, uint64_t length_ns,
	struct error *error)
{
	*stop = (struct stop_process){
		.env = env,
		.length_ns = length_ns,
		.tid = (uint32_t)gettid(),
		.pidfd = -1,
	};
	if (env->poller == NULL && is_in_foreground(env->victim_pid)) {
		error_set(error,
			"--victim %d: runs in the foreground of a terminal, which it would lose as "
			"it is stopped; start it with setsid or as a service",
			env->victim_pid);
		return -EINVAL;
	}
	stop->pidfd = pidfd_open(env->victim_pid, 0);
	int err = stop->pidfd < 0 ? -errno : pidfd_send_signal(stop->pidfd, 0, NULL, 0);
	if (err < 0 && stop->pidfd >= 0)
		err = -errno;
	// Our own child dies with us; another's process would stay stopped.
	if (err == 0 && env->poller == NULL)
		err = keeper_start(&stop->keeper, go_on, stop);
	if (err < 0)
		error_set(error,
			"--victim %d: cannot be stopped: %s; name a process of "
			"yours (its PID, not a thread)",
			env->victim_pid, strerror(-err));
	return err;
}

static bool all_stopped(pid_t pid)
{
	char path[64];
	const struct dirent *entry;
	bool is_stopped = true;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *folder = opendir(path);
	if (folder == NULL)
		return false;
	while (is_stopped && (entry = readdir(folder)) != NULL)
		if (isdigit((unsigned char)*entry->d_name))
			is_stopped = strchr("TtXZ", state_of(dirfd(folder), entry->d_name)) != NULL;
	(void)closedir(folder);
	return is_stopped;
}

int stop_process_once(struct stop_process *stop)
{
	const struct cause_env *env = stop->env;
	const struct timespec length = {
		.tv_sec = (time_t)(stop->length_ns / 1000000000),
		.tv_nsec = (long)(stop->length_ns % 1000000000),
	};
	uint64_t timeout_ticks = clock_ticks(TIMEOUT_NS, env->tsc_hz);
	uint64_t start = clock_tsc();

	if (pidfd_send_signal(stop->pidfd, SIGSTOP, NULL, 0) < 0)
		return -errno;
	bool is_stopped = all_stopped(env->victim_pid);
	while (!is_stopped && clock_tsc() - start < timeout_ticks) {
		is_stopped = all_stopped(env->victim_pid);
		cause_wait(env, start);
	}
	(void)nanosleep(&length, NULL);
	uint64_t end = clock_tsc();
	if (pidfd_send_signal(stop->pidfd, SIGCONT, NULL, 0) < 0)
		return -errno;
	if (is_stopped)
		injection_log_add(env->log, start, end, stop->tid, (uint64_t)env->victim_pid);
	return is_stopped;
}

void stop_process_fini(struct stop_process *stop)
{
	if (stop->env == NULL)
		return;
	keeper_dismiss(&stop->keeper);
	if (stop->pidfd >= 0)
		(void)close(stop->pidfd);
}
