#include "json_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int json_file_print(FILE *out, json_print *print, const void *context)
{
	struct json json = {.out = out};

	print(&json, context);
	return json_done(&json);
}

static int write_text(const char *path, const char *text, size_t len)
{
	FILE *file = fopen(path, "we");
	int err = 0;

	if (file == NULL)
		return -errno;
	if (fwrite(text, 1, len, file) < len || fflush(file) != 0)
		err = -errno;
	// Network file systems report a full disk only here.
	if (fclose(file) != 0 && err == 0)
		err = -errno;
	return err;
}

static bool is_beside_refused(int err)
{
	// A folder that is not ours or read-only; a file that is a mount point, as in a container.
	return err == -EACCES || err == -EBUSY || err == -EPERM || err == -EROFS || err == -EXDEV;
}

static int replace(const char *path, const char *text, size_t len)
{
	char temporary[PATH_MAX];
	struct stat status;
	bool is_there = lstat(path, &status) == 0;

	if (is_there && !S_ISREG(status.st_mode))
		return write_text(path, text, len);
	if (snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	int err = write_text(temporary, text, len);
	if (err == 0 && is_there && chmod(temporary, status.st_mode & ALLPERMS) < 0)
		err = -errno;
	if (err == 0 && rename(temporary, path) < 0)
		err = -errno;
	if (err < 0)
		(void)unlink(temporary);
	return is_there && is_beside_refused(err) ? write_text(path, text, len) : err;
}

int json_file_write(const char *path, json_print *print, const void *context)
{
	char *text = NULL;
	size_t len = 0;
	// In memory first: of a stream that failed on the way nobody knows why.
	FILE *memory = open_memstream(&text, &len);

	if (memory == NULL)
		return -errno;
	int err = json_file_print(memory, print, context);
	if (fclose(memory) != 0 && err == 0)
		err = -errno;
	if (err == 0)
		err = replace(path, text, len);
	free(text);
	return err;
}
