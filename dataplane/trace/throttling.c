#include "throttling.h"

#include "key_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PATH_LEN = 1024,
	LINE_LEN = 1024,
};

struct seen {
	struct seen *next;
	uint32_t thread;
	const char *mount; // one of those below
	char group[];
};

struct throttling {
	const char *root;
	struct seen *first, **end;
};

struct counted {
	uint64_t n, us;
};

static const char *const unified[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
static const char *const first_version[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};

struct throttling *throttling_create(const char *root)
{
	struct throttling *throttling = calloc(1, sizeof(*throttling));

	if (throttling != NULL) {
		throttling->root = root;
		throttling->end = &throttling->first;
	}
	return throttling;
}

// Version 2 counts microseconds, version 1 nanoseconds. Returns false where the group is not there
// or has no such counter.
static bool read_group(const char *root, const char *mount, const char *group, struct counted *out)
{
	char path[PATH_LEN], line[LINE_LEN];
	uint64_t value;
	bool is_there = false;

	*out = (struct counted){0};
	snprintf(path, sizeof(path), "%s%s%s/cpu.stat", root, mount, group);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (key_value(line, "nr_throttled ", &out->n))
			is_there = true;
		else if (key_value(line, "throttled_time ", &value))
			out->us = value / 1000;
		else
			(void)key_value(line, "throttled_usec ", &out->us);
	}
	if (file != NULL)
		fclose(file);
	return is_there;
}

static bool is_noted(const struct throttling *throttling, uint32_t thread, const char *group)
{
	for (const struct seen *seen = throttling->first; seen != NULL; seen = seen->next)
		if (seen->thread == thread && strcmp(seen->group, group) == 0)
			return true;
	return false;
}

static void note(
	struct throttling *throttling, uint32_t thread, const char *mount, const char *group)
{
	struct counted ignored;
	size_t size = strlen(group) + 1;

	if (is_noted(throttling, thread, group) ||
		!read_group(throttling->root, mount, group, &ignored))
		return;
	struct seen *seen = malloc(sizeof(*seen) + size);
	// Without memory the group is not counted, as one that has no counter.
	if (seen == NULL)
		return;
	*seen = (struct seen){.thread = thread, .mount = mount};
	memcpy(seen->group, group, size);
	*throttling->end = seen;
	throttling->end = &seen->next;
}

static bool is_there(const struct throttling *throttling, const char *folder)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), "%s%s", throttling->root, folder);
	return access(path, F_OK) == 0;
}

// Where the hierarchy of a line of /proc/PID/cgroup is mounted; NULL: it does not count throttling.
static const char *mount_of(const struct throttling *throttling, const char *names)
{
	bool is_unified = names[0] == '\0';
	bool is_cpu = strcmp(names, "cpu") == 0 || strncmp(names, "cpu,", 4) == 0 ||
		      strstr(names, ",cpu,") != NULL;

	if (!is_unified && !is_cpu)
		return NULL;
	// With both versions mounted the unified one has a folder of its own.
	if (is_unified)
		return unified[is_there(throttling, unified[1])];
	return first_version[!is_there(throttling, first_version[0])];
}

void throttling_see(struct throttling *throttling, uint32_t thread, const char *folder)
{
	char path[PATH_LEN], line[LINE_LEN];

	snprintf(path, sizeof(path), "%s/cgroup", folder);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		char *names = strchr(line, ':');
		char *group = names == NULL ? NULL : strchr(names + 1, ':');
		if (group == NULL)
			continue;
		*group++ = '\0';
		const char *mount = mount_of(throttling, names + 1);
		// A group is throttled by its own limit and by that of each group above it.
		while (mount != NULL && *group != '\0') {
			note(throttling, thread, mount, group);
			char *slash = strrchr(group, '/');
			if (slash == NULL)
				break;
			*slash = '\0';
		}
	}
	if (file != NULL)
		fclose(file);
}

bool throttling_knows(const struct throttling *throttling, uint32_t thread)
{
	const struct seen *seen = throttling->first;

	while (seen != NULL && seen->thread != thread)
		seen = seen->next;
	return seen != NULL;
}

void throttling_print(const struct throttling *throttling, struct json *json, uint32_t thread)
{
	json_object(json, "cgroups");
	for (const struct seen *seen = throttling->first; seen != NULL; seen = seen->next) {
		struct counted now;
		if (seen->thread != thread)
			continue;
		if (!read_group(throttling->root, seen->mount, seen->group, &now)) {
			json_null(json, seen->group);
			continue;
		}
		json_object(json, seen->group);
		json_u64(json, "nr_throttled", now.n);
		json_u64(json, "throttled_us", now.us);
		json_end(json);
	}
	json_end(json);
}

void throttling_destroy(struct throttling *throttling)
{
	if (throttling == NULL)
		return;
	for (struct seen *seen = throttling->first, *next; seen != NULL; seen = next) {
		next = seen->next;
		free(seen);
	}
	free(throttling);
}
