#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TRIES = 200,
	PAUSE_NS = 10000000,
};

// An instance is busy until the last file of the one that died is closed.
static void remove_folder(const char *path)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (int i = 0; i < TRIES && rmdir(path) < 0 && errno == EBUSY; i++)
		nanosleep(&pause, NULL);
}

static _Noreturn void keep(int end_of_pipe, const char *const *paths, int n)
{
	char byte;

	// Not in the group that Ctrl-C goes to; and nobody waits for a file it holds open.
	(void)setsid();
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)prctl(PR_SET_NAME, "taut-keeper");
	(void)dup2(end_of_pipe, STDIN_FILENO);
	(void)close_range(STDOUT_FILENO, ~0U, 0);
	while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < n; i++)
		remove_folder(paths[i]);
	_exit(0);
}

int keeper_start(struct keeper *keeper, const char *const *paths, int n)
{
	int ends[2];

	*keeper = (struct keeper){.pipe = -1};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]);
		keep(ends[0], paths, n);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return -errno;
	}
	*keeper = (struct keeper){.pid = pid, .pipe = ends[1]};
	return 0;
}

void keeper_stop(struct keeper *keeper)
{
	if (keeper->pid == 0)
		return;
	close(keeper->pipe);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	keeper->pid = 0;
}
