#include "keeper.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char dismissed = 'd';

// Blocks until our parent dismisses us or is gone.
static _Noreturn void keep(int fd, void (*put_back)(void *arg), void *arg)
{
	sigset_t all;
	char word = 0;

	// Not in the group that `kill -9 %1` and `timeout -s KILL` end with us.
	(void)setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	ssize_t n = read(fd, &word, 1);
	if (n != 1 || word != dismissed)
		put_back(arg);
	_exit(0);
}

int keeper_start(struct keeper *keeper, void (*put_back)(void *arg), void *arg)
{
	int ends[2];

	// Of a pipe whose reader was killed a writer would die (SIGPIPE).
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		keep(ends[0], put_back, arg);
	}
	int err = pid < 0 ? -errno : 0;
	(void)close(ends[0]);
	if (err < 0) {
		(void)close(ends[1]);
		return err;
	}
	*keeper = (struct keeper){.pid = pid, .socket = ends[1]};
	return 0;
}

void keeper_dismiss(struct keeper *keeper)
{
	if (keeper->pid <= 0)
		return;
	(void)send(keeper->socket, &dismissed, 1, MSG_NOSIGNAL);
	(void)close(keeper->socket);
	(void)waitpid(keeper->pid, NULL, 0);
	*keeper = (struct keeper){0};
}
