#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct keeper {
	pid_t pid;
	int pipe; // closed, it ends the keeper
};

enum {
	TRIES = 6000, // a minute: one that dies may be kept from its core
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

static int start(struct keeper *keeper, const char *const *paths, int n)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]);
		keep(ends[0], paths, n);
	}
	int err = pid < 0 ? -errno : 0;
	close(ends[0]);
	if (err < 0)
		close(ends[1]);
	*keeper = (struct keeper){.pid = pid, .pipe = ends[1]};
	return err;
}

int keeper_start(struct keeper **out, const char *const *paths, int n)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	int err = keeper == NULL ? -ENOMEM : start(keeper, paths, n);

	if (err < 0) {
		free(keeper);
		keeper = NULL;
	}
	*out = keeper;
	return err;
}

void keeper_stop(struct keeper *keeper)
{
	if (keeper == NULL)
		return;
	close(keeper->pipe);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(keeper);
}
