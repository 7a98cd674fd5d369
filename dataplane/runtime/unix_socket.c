#include "unix_socket.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	ACCEPTS = 1 << 16, // __SO_ACCEPTCON, the flag of a listening socket (linux/net.h)
	MAX_NAMESPACES = 64,
};

// The same file under two spellings: the same name in the same folder. Where the other one is
// relative to a folder that is not known, the name decides.
static bool same_file(const char *path, const char *other)
{
	char folder[PATH_MAX], other_folder[PATH_MAX];
	struct stat found, other_found;
	const char *name = strrchr(path, '/'), *other_name = strrchr(other, '/');

	if (name == NULL || strcmp(name + 1, other_name != NULL ? other_name + 1 : other) != 0)
		return false;
	if (other[0] != '/')
		return true;
	snprintf(folder, sizeof(folder), "%.*s/", (int)(name - path), path);
	snprintf(other_folder, sizeof(other_folder), "%.*s/", (int)(other_name - other), other);
	return stat(folder, &found) == 0 && stat(other_folder, &other_found) == 0 &&
	       found.st_dev == other_found.st_dev && found.st_ino == other_found.st_ino;
}

// Line by line: "Num RefCount Protocol Flags Type St Inode Path" (proc(5), /proc/net/unix).
static bool is_in_table(const char *table, const char *path)
{
	FILE *file = fopen(table, "re");
	char line[512];
	bool found = false;

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL) {
		unsigned int flags;
		int at = 0;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*s %*x %*x %x %*x %*x %*u %n", &flags, &at) == 1 && at > 0)
			found = flags & ACCEPTS && same_file(path, line + at);
	}
	fclose(file);
	return found;
}

struct namespaces {
	ino_t seen[MAX_NAMESPACES];
	size_t n;
};

static bool is_new(struct namespaces *namespaces, const char *pid)
{
	struct stat found;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.16s/ns/net", pid);
	if (stat(path, &found) < 0)
		return false;
	for (size_t i = 0; i < namespaces->n; i++)
		if (namespaces->seen[i] == found.st_ino)
			return false;
	if (namespaces->n < MAX_NAMESPACES)
		namespaces->seen[namespaces->n++] = found.st_ino;
	return true;
}

// A table shows one network namespace, a socket file is seen from all: read one table of each.
bool unix_socket_is_listening(const char *path)
{
	struct namespaces namespaces = {0};
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool found = is_in_table("/proc/self/net/unix", path);

	while (!found && processes != NULL && (entry = readdir(processes)) != NULL) {
		char table[64];
		if (!isdigit((unsigned char)entry->d_name[0]) ||
			!is_new(&namespaces, entry->d_name))
			continue;
		snprintf(table, sizeof(table), "/proc/%.16s/net/unix", entry->d_name);
		found = is_in_table(table, path);
	}
	if (processes != NULL)
		closedir(processes);
	return found;
}
