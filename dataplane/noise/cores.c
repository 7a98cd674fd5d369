#include "cores.h"

#include "cpu_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char system_folder[] = "/sys/devices/system/cpu";

// A file that holds a list of cores; false when there is none to read.
static bool read_list(const char *folder, const char *name, cpu_set_t *out)
{
	char path[CORES_FOLDER_LEN + 32];
	char text[4096] = "";

	CPU_ZERO(out);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	bool is_read = fgets(text, sizeof(text), file) != NULL;
	(void)fclose(file);
	return is_read && cpu_list_parse(text, out) == 0;
}

static int check(
	const char *folder, const cpu_set_t *cores, const cpu_set_t *allowed, struct error *error)
{
	cpu_set_t online;
	char list[256];
	bool is_known = read_list(folder, "online", &online);

	for (size_t core = 0; core < CPU_SETSIZE; core++) {
		if (!CPU_ISSET(core, cores))
			continue;
		if (is_known && !CPU_ISSET(core, &online)) {
			error_set(error, "core %zu is not online; online are %s", core,
				cpu_list_format(&online, list, sizeof(list)));
			return -EINVAL;
		}
		if (!CPU_ISSET(core, allowed)) {
			error_set(error,
				"core %zu is not for this process (its cpuset); it may "
				"use %s",
				core, cpu_list_format(allowed, list, sizeof(list)));
			return -EINVAL;
		}
	}
	return 0;
}

static void choose_default(const char *folder, const cpu_set_t *allowed, cpu_set_t *out)
{
	cpu_set_t found;

	CPU_ZERO(out);
	if (read_list(folder, "isolated", &found))
		CPU_AND(out, &found, allowed);
	if (CPU_COUNT(out) > 0)
		return;
	*out = *allowed;
	for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(allowed) > 1; core++) {
		if (CPU_ISSET(core, allowed)) {
			CPU_CLR(core, out);
			return;
		}
	}
}

int cores_choose(const cpu_set_t *asked, const char *folder, cpu_set_t *out, struct error *error)
{
	// With the isolated ones: they are in nobody's mask, but in the cpuset.
	cpu_set_t allowed;
	int err = cpu_list_reachable(&allowed);

	if (folder == NULL)
		folder = system_folder;
	if (err < 0) {
		error_set(error, "cannot read the cores of this process: %s", strerror(-err));
		return -EINVAL;
	}
	if (CPU_COUNT(asked) == 0) {
		choose_default(folder, &allowed, out);
		return 0;
	}
	*out = *asked;
	return check(folder, out, &allowed, error);
}
