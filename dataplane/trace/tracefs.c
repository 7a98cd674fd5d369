#include "tracefs.h"

#include "pid_namespace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static const char *const mount_points[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
static const char prefix[] = "taut-";
static const char program[] = "taut-trace";

bool tracefs_has(const char *folder, const char *name)
{
	char path[2 * TRACEFS_PATH_LEN];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

// A mount that others do not see. Slave, not private: what they mount later is still seen here.
static int mount_for_self(struct error *error)
{
	int err = 0;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
		mount("tracefs", mount_points[0], "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			NULL) < 0)
		err = -errno;
	if (err == -EPERM || err == -EACCES)
		error_set(error, "tracefs is not mounted and may not be mounted here; run as root");
	else if (err == -ENOENT || err == -ENODEV)
		error_set(error,
			"%s: this kernel has no tracefs; events need one built with CONFIG_TRACING",
			mount_points[0]);
	else if (err < 0)
		error_set(error, "%s: cannot mount tracefs: %s; mount it as root", mount_points[0],
			strerror(-err));
	return err;
}

int tracefs_open(char *root, struct error *error)
{
	for (size_t i = 0; i < sizeof(mount_points) / sizeof(mount_points[0]); i++) {
		if (!tracefs_has(mount_points[i], "instances"))
			continue;
		snprintf(root, TRACEFS_PATH_LEN, "%s", mount_points[i]);
		return 0;
	}
	int err = mount_for_self(error);
	if (err == 0)
		snprintf(root, TRACEFS_PATH_LEN, "%s", mount_points[0]);
	return err;
}

int tracefs_write(const char *folder, const char *name, const char *text)
{
	char path[2 * TRACEFS_PATH_LEN];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, text, strlen(text));
	int err = n < 0 ? -errno : 0;
	close(fd);
	return err;
}

char *tracefs_read(const char *folder, const char *name)
{
	char path[2 * TRACEFS_PATH_LEN];
	char *text = NULL;
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return NULL;
	// These files are made as they are read and have no size.
	ssize_t n = getdelim(&text, &size, '\0', file);
	fclose(file);
	if (n >= 0)
		return text;
	free(text);
	return strdup("");
}

char *tracefs_instance_path(
	const char *root, int pid, bool is_all, char path[static TRACEFS_PATH_LEN])
{
	snprintf(path, TRACEFS_PATH_LEN, "%s/instances/%s%d-%" PRIu64 "%s", root, prefix, pid,
		pid_namespace(), is_all ? "-all" : "");
	return path;
}

bool tracefs_is_stale(const char *name, bool (*comm_of)(int pid, char *comm, size_t len))
{
	char comm[32] = "";
	char *end;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return false;
	long pid = strtol(name + sizeof(prefix) - 1, &end, 10);
	if (pid <= 0)
		return false;
	if (*end == '-' && isdigit((unsigned char)end[1]) &&
		strtoull(end + 1, &end, 10) != pid_namespace())
		return false;
	if (*end != '\0' && strcmp(end, "-all") != 0)
		return false;
	// The number may belong to somebody else by now.
	return !comm_of((int)pid, comm, sizeof(comm)) || strcmp(comm, program) != 0;
}

static bool comm_of_process(int pid, char *comm, size_t len)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fgets(comm, (int)len, file) == NULL)
		comm[0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	fclose(file);
	return true;
}

void tracefs_remove_stale(const char *root)
{
	char path[2 * TRACEFS_PATH_LEN + 300];

	snprintf(path, sizeof(path), "%s/instances", root);
	DIR *folder = opendir(path);
	if (folder == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		if (!tracefs_is_stale(entry->d_name, comm_of_process))
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", root, entry->d_name);
		(void)rmdir(path);
	}
	closedir(folder);
}
