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
	STAT_LEN = 128, // pid, comm and state stand within it
};

static void go_on(void *arg)
{
	const struct stop_process *stop = arg;

	(void)pidfd_send_signal(stop->pidfd, SIGCONT, NULL, 0);
}

int stop_process_init(struct stop_process *stop, const struct cause_env *env, uint64_t length_ns,
	struct error *error)
{
	*stop = (struct stop_process){
		.env = env,
		.length_ns = length_ns,
		.tid = (uint32_t)gettid(),
		.pidfd = pidfd_open(env->victim_pid, 0),
	};
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

// The letter behind the name, which may hold any character.
static char state_of(int folder, const char *tid)
{
	char path[300], text[STAT_LEN] = "";

	snprintf(path, sizeof(path), "%s/stat", tid);
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 'X'; // ended
	ssize_t n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	const char *behind = n > 0 ? strrchr(text, ')') : NULL;
	return behind != NULL && behind[1] == ' ' ? behind[2] : 'X';
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
