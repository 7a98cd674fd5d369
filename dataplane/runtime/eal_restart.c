#include "eal_restart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ARGUMENTS_BYTES = 64 * 1024,
	MAX_ARGUMENTS = 1024,
};

const char *const eal_small_pages_variable = "TAUT_SMALL_PAGES";

static ssize_t read_arguments(char *text, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size);

	if (fd >= 0)
		close(fd);
	return n;
}

int eal_restart_on_small_pages(void)
{
	static char text[ARGUMENTS_BYTES];
	char *arguments[MAX_ARGUMENTS + 1] = {NULL};
	ssize_t n_bytes = read_arguments(text, sizeof(text) - 1);
	size_t n = 0;

	if (n_bytes <= 0 || n_bytes == sizeof(text) - 1)
		return -E2BIG;
	if (getenv(eal_small_pages_variable) != NULL)
		return -EALREADY;
	for (char *at = text; at < text + n_bytes; at += strlen(at) + 1) {
		if (n == MAX_ARGUMENTS)
			return -E2BIG;
		arguments[n++] = at;
	}
	if (setenv(eal_small_pages_variable, "1", 1) < 0)
		return -errno;
	execv("/proc/self/exe", arguments);
	return -errno;
}
