#include "cpu_group.h"

#include "keeper.h"
#include "log.h"
#include "pid_namespace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	PERIOD_US = 1000000, // the longest the kernel takes: no refill comes in between
	REMOVE_TRIES = 100, // of a millisecond
	TEXT_LEN = 4096,
	MOST_THREADS = 1024, // whose cores are noted while their process is moved
};

struct cpu_group {
	char path[CPU_GROUP_PATH_LEN];
	bool is_v2;
	char home[CPU_GROUP_PATH_LEN]; // where the borrowed process was; "": nobody is
	struct keeper keeper; // of that process
};

static const char prefix[] = "taut-inject-";

static int write_text(const char *folder, const char *name, const char *text)
{
	char path[CPU_GROUP_PATH_LEN + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	(void)close(fd);
	return err;
}

static int read_text(const char *folder, const char *name, char *text, size_t len)
{
	char path[CPU_GROUP_PATH_LEN + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, len - 1);
	int err = n < 0 ? -errno : 0;
	if (fd >= 0)
		(void)close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return err;
}

static bool has_word(const char *text, const char *separators, const char *word)
{
	char copy[TEXT_LEN];
	char *rest = copy;

	snprintf(copy, sizeof(copy), "%s", text);
	for (const char *next; (next = strsep(&rest, separators)) != NULL;)
		if (strcmp(next, word) == 0)
			return true;
	return false;
}

// Where the cpu controller is: a hierarchy of version 1, or that of version 2 if it hands the
// controller to its children.
static bool find_mount(const char *mounts, char *folder, size_t len, bool *is_v2)
{
	char line[TEXT_LEN], path[CPU_GROUP_PATH_LEN - 32], type[32], options[1024], text[TEXT_LEN];
	bool is_found = false;
	FILE *file = fopen(mounts, "re");

	if (file == NULL)
		return false;
	while (!is_found && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%*s %479s %31s %1023s", path, type, options) != 3)
			continue;
		*is_v2 = strcmp(type, "cgroup2") == 0;
		if (*is_v2)
			is_found = read_text(path, "cgroup.subtree_control", text, sizeof(text)) ==
					   0 &&
				   has_word(text, " \n", "cpu");
		else
			is_found = strcmp(type, "cgroup") == 0 && has_word(options, ",", "cpu");
	}
	(void)fclose(file);
	if (is_found)
		snprintf(folder, len, "%s", path);
	return is_found;
}

struct bound {
	pid_t thread;
	cpu_set_t cores;
};

// Fill in which cores each thread of a process may have. Returns how many threads there are, at
// most MOST_THREADS.
static size_t note_cores(const char *pid, struct bound *bound)
{
	char path[64];
	size_t n = 0;
	const struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	DIR *opened = opendir(path);
	while (opened != NULL && n < MOST_THREADS && (entry = readdir(opened)) != NULL) {
		bound[n].thread = (pid_t)strtol(entry->d_name, NULL, 10);
		if (bound[n].thread > 0 && sched_getaffinity(bound[n].thread,
						   sizeof(bound[n].cores), &bound[n].cores) == 0)
			n++;
	}
	if (opened != NULL)
		(void)closedir(opened);
	return n;
}

// Put a process into a group. Of version 2 it gets another cpuset with it, and before Linux 6.2 the
// kernel forgets what each thread was bound to (8f9ea86fdf99, "sched: Always preserve the user
// requested cpumask"): a poller would leave its core for good.
static int move(const char *folder, const char *pid)
{
	struct bound *bound = calloc(MOST_THREADS, sizeof(*bound));
	size_t n = bound == NULL ? 0 : note_cores(pid, bound);
	int err = write_text(folder, "cgroup.procs", pid);

	for (size_t i = 0; i < n; i++) {
		cpu_set_t now;
		if (sched_getaffinity(bound[i].thread, sizeof(now), &now) == 0 &&
			!CPU_EQUAL(&now, &bound[i].cores))
			(void)sched_setaffinity(
				bound[i].thread, sizeof(bound[i].cores), &bound[i].cores);
	}
	free(bound);
	return err;
}

// Its processes, with what they started meanwhile, go home without a quota.
static void empty(const char *path, bool is_v2, const char *home)
{
	char text[TEXT_LEN], before[TEXT_LEN] = "";

	if (is_v2)
		(void)write_text(path, "cpu.max", "max");
	else
		(void)write_text(path, "cpu.cfs_quota_us", "-1");
	// One reading holds some hundreds. Where the next one is the same, they stay.
	while (read_text(path, "cgroup.procs", text, sizeof(text)) == 0 &&
		strcmp(text, before) != 0) {
		char *rest = text;
		memcpy(before, text, sizeof(before));
		// Whole lines only: the last number may be cut off.
		for (char *end; (end = strchr(rest, '\n')) != NULL; rest = end + 1) {
			*end = '\0';
			(void)move(home, rest);
		}
	}
}

// A borrowed process is still in the group of one that was killed with its keeper.
static void remove_dead(const char *folder, bool is_v2)
{
	char path[CPU_GROUP_PATH_LEN + 300];
	const struct dirent *entry;
	DIR *opened = opendir(folder);

	if (opened == NULL)
		return;
	while ((entry = readdir(opened)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		char *end;
		pid_t pid = (pid_t)strtol(entry->d_name + strlen(prefix), &end, 10);
		if (pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
			continue;
		// Of another PID namespace nobody can tell; an older taut's has none.
		if (*end == '-' && strtoull(end + 1, NULL, 10) != pid_namespace())
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		empty(path, is_v2, folder);
		(void)rmdir(path);
	}
	(void)closedir(opened);
}

// The folder is made, or there already.
static int make_folder(struct cpu_group *group, const char *mounts, struct error *error)
{
	char folder[CPU_GROUP_PATH_LEN - 32];

	if (!find_mount(mounts, folder, sizeof(folder), &group->is_v2)) {
		error_set(error,
			"throttled: no control group with the cpu controller; of version 2 enable "
			"it: echo +cpu > /sys/fs/cgroup/cgroup.subtree_control");
		return -ENOENT;
	}
	remove_dead(folder, group->is_v2);
	snprintf(group->path, sizeof(group->path), "%s/%s%d-%" PRIu64, folder, prefix, getpid(),
		pid_namespace());
	int err = mkdir(group->path, 0755) < 0 && errno != EEXIST ? -errno : 0;
	if (err < 0)
		error_set(error, "throttled: %s: cannot be made: %s; run as root", group->path,
			strerror(-err));
	return err;
}

int cpu_group_create(struct cpu_group **out, const char *mounts, struct error *error)
{
	struct cpu_group *group = calloc(1, sizeof(*group));
	int err = -ENOMEM;

	*out = group;
	if (group == NULL)
		error_set(error, "throttled: out of memory");
	else
		err = make_folder(group, mounts == NULL ? "/proc/mounts" : mounts, error);
	if (err < 0) {
		free(group);
		*out = NULL;
	}
	return err;
}

const char *cpu_group_path(const struct cpu_group *group)
{
	return group->path;
}

int cpu_group_add(const struct cpu_group *group, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return move(group->path, text);
}

// Fill home, of CPU_GROUP_PATH_LEN, with where the kernel says that a process or thread (its folder
// in /proc) is: the line of the cpu controller, of version 2 the only one without names.
static int find_home(const struct cpu_group *group, const char *folder, char *home)
{
	char text[TEXT_LEN];
	char *rest = text;
	int err = read_text(folder, "cgroup", text, sizeof(text));

	for (char *line; err == 0 && (line = strsep(&rest, "\n")) != NULL;) {
		char *names = strchr(line, ':');
		char *own = names == NULL ? NULL : strchr(names + 1, ':');
		if (own == NULL)
			continue;
		*own++ = '\0';
		if (group->is_v2 ? names[1] != '\0' : !has_word(names + 1, ",", "cpu"))
			continue;
		const char *last = strrchr(group->path, '/');
		int n = snprintf(home, CPU_GROUP_PATH_LEN, "%.*s%s", (int)(last - group->path),
			group->path, own);
		return n < CPU_GROUP_PATH_LEN ? 0 : -ENAMETOOLONG;
	}
	return err < 0 ? err : -ENOENT;
}

// Note where the process is. Its threads are put back together: they have to be there together.
// Returns 0 or -errno, -EXDEV with one line in error.
static int note_home(struct cpu_group *group, const char *folder, struct error *error)
{
	char path[CPU_GROUP_PATH_LEN], home[CPU_GROUP_PATH_LEN];
	const struct dirent *entry;
	int err = find_home(group, folder, group->home);

	snprintf(path, sizeof(path), "%s/task", folder);
	DIR *opened = err < 0 ? NULL : opendir(path);
	while (err == 0 && opened != NULL && (entry = readdir(opened)) != NULL) {
		snprintf(path, sizeof(path), "%s/task/%.16s", folder, entry->d_name);
		// Nor have "." and ".." such a file.
		if (*entry->d_name == '.' || find_home(group, path, home) < 0 ||
			strcmp(home, group->home) == 0)
			continue;
		error_set(error,
			"throttled: the victim's threads are in different control groups (%s, %s), "
			"which cannot be put back; name a process that is in one",
			group->home, home);
		err = -EXDEV;
	}
	if (opened != NULL)
		(void)closedir(opened);
	if (err < 0)
		*group->home = '\0';
	return err;
}

static void put_back(void *arg)
{
	struct error error;

	if (cpu_group_destroy(arg, &error) < 0)
		LOG(ERROR, "%s", error.text);
}

int cpu_group_borrow(struct cpu_group *group, pid_t pid, const char *proc, struct error *error)
{
	char folder[64], keeper[16];

	snprintf(folder, sizeof(folder), "%s/%d", proc == NULL ? "/proc" : proc, pid);
	int err = note_home(group, folder, error);
	if (err == 0)
		err = keeper_start(&group->keeper, put_back, group);
	// systemd removes a scope that nobody is in: the keeper holds the place.
	if (err == 0) {
		snprintf(keeper, sizeof(keeper), "%d", group->keeper.pid);
		err = move(group->home, keeper);
	}
	if (err == 0)
		err = cpu_group_add(group, pid);
	if (err < 0 && err != -EXDEV)
		error_set(error, "throttled: %s: %s; run as root", group->path, strerror(-err));
	return err;
}

int cpu_group_limit(const struct cpu_group *group, uint64_t quota_us)
{
	char text[64];

	if (group->is_v2) {
		snprintf(text, sizeof(text), "%" PRIu64 " %d", quota_us, PERIOD_US);
		return write_text(group->path, "cpu.max", text);
	}
	snprintf(text, sizeof(text), "%d", PERIOD_US);
	int err = write_text(group->path, "cpu.cfs_period_us", text);
	snprintf(text, sizeof(text), "%" PRIu64, quota_us);
	return err < 0 ? err : write_text(group->path, "cpu.cfs_quota_us", text);
}

int cpu_group_unlimit(const struct cpu_group *group)
{
	// One more than there are: each CPU keeps a slice that another may lack.
	uint64_t n_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) + 1;
	int err = cpu_group_limit(group, n_cpus * PERIOD_US);

	// v1 lets no group have more than the one above it. With none of its own it has that one's.
	if (err == -EINVAL && !group->is_v2)
		err = write_text(group->path, "cpu.cfs_quota_us", "-1");
	return err;
}

int cpu_group_throttled_ns(const struct cpu_group *group, uint64_t *out)
{
	const char *name = group->is_v2 ? "throttled_usec " : "throttled_time ";
	char text[TEXT_LEN];
	int err = read_text(group->path, "cpu.stat", text, sizeof(text));

	if (err < 0)
		return err;
	const char *at = strstr(text, name);
	if (at == NULL)
		return -ENOENT;
	*out = strtoull(at + strlen(name), NULL, 10) * (group->is_v2 ? 1000 : 1);
	return 0;
}

int cpu_group_destroy(struct cpu_group *group, struct error *error)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char text[TEXT_LEN] = "";
	int err = 0;

	if (group == NULL)
		return 0;
	if (*group->home != '\0')
		empty(group->path, group->is_v2, group->home);
	// Who has just ended may be in it for a moment.
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (rmdir(group->path) == 0 || errno != EBUSY)
			break;
		(void)nanosleep(&pause, NULL);
	}
	if (*group->home != '\0' &&
		read_text(group->path, "cgroup.procs", text, sizeof(text)) == 0 && *text != '\0') {
		err = -EBUSY;
		error_set(error,
			"throttled: %s: process %ld is left in it, without a quota; put it back: "
			"echo %ld > %s/cgroup.procs",
			group->path, strtol(text, NULL, 10), strtol(text, NULL, 10), group->home);
	}
	keeper_dismiss(&group->keeper);
	free(group);
	return err;
}
