// From the text of a --nf to a network function: one of nf_table.c, or one that a shared object of
// the user's exports (NF_EXPORT).

#include "nf_load.h"

#include "nf_table.h"

#include <rte_common.h>

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(sizeof(struct nf_ops) == 120 && sizeof(struct nf_env) == 16 &&
		      sizeof(struct nf_drop) == 16 && sizeof(struct option_spec) == 72 &&
		      sizeof(struct option_list) == 264 && sizeof(struct error) == 1024,
	"functions outside the tree were compiled with these: raise NF_ABI");

static bool is_file(const char *name)
{
	size_t len = strlen(name);

	return strchr(name, '/') != NULL || (len > 3 && strcmp(name + len - 3, ".so") == 0);
}

// Root would run what anybody may have written.
static int check_file(const char *path, struct error *error)
{
	struct stat status;

	if (stat(path, &status) < 0)
		error_set(error, "%s; name a shared object, without a colon in its path",
			strerror(errno));
	else if (!S_ISREG(status.st_mode))
		error_set(error, "no file; name a shared object");
	else if (geteuid() == 0 && (status.st_mode & S_IWOTH) != 0)
		error_set(error, "everybody may write to it, and root would run it; chmod o-w it");
	else
		return 0;
	return -EINVAL;
}

// Why the loader refused it, without the path that it puts in front.
static const char *load_error(const char *path)
{
	const char *text = dlerror();
	size_t len = strlen(path);

	return strncmp(text, path, len) == 0 && text[len] == ':' ? text + len + 2 : text;
}

static bool is_word(const char *text)
{
	return text != NULL && *text != '\0' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool are_options_whole(const struct nf_ops *ops)
{
	for (size_t i = 0; i < ops->n_options; i++) {
		const struct option_spec *spec = &ops->options[i];
		if (spec->name == NULL || spec->help == NULL || spec->offset >= ops->options_size ||
			(spec->type == OPTION_CHOICE && spec->choices == NULL))
			return false;
	}
	return true;
}

static bool are_drops_whole(const struct nf_ops *ops)
{
	for (size_t i = 0; i < ops->n_drops; i++)
		if (!is_word(ops->drops[i].reason) ||
			ops->drops[i].offset + sizeof(uint64_t) > ops->state_size)
			return false;
	return true;
}

// What the table lacks that all of taut's own have; NULL: nothing.
static const char *lacking(const struct nf_ops *ops)
{
	if (ops == NULL || ops->process == NULL)
		return "no process";
	if (!is_word(ops->name) || ops->summary == NULL)
		return "no name of a-z, 0-9 and _, or no summary";
	if ((ops->release != NULL) != (ops->n_dropped != NULL))
		return "one of release and n_dropped, not the other";
	if (ops->release != NULL && ops->fini == NULL)
		return "a release, but no fini to free what it holds";
	if (!are_options_whole(ops))
		return "an option without name, help or choices, or beyond options_size";
	if (!are_drops_whole(ops))
		return "a reason of drops that is no word, or beyond state_size";
	return NULL;
}

static int check_export(const struct nf_export *found, struct error *error)
{
	if (found == NULL) {
		error_set(error, "exports no network function; end its source with NF_EXPORT");
		return -EINVAL;
	}
	if (found->abi != NF_ABI || found->ops_size != sizeof(struct nf_ops)) {
		error_set(error,
			"of version %u of taut/nf.h (%u bytes), this is version %d (%zu bytes); "
			"compile it again",
			found->abi, found->ops_size, NF_ABI, sizeof(struct nf_ops));
		return -EINVAL;
	}
	if (found->dpdk != NF_DPDK) {
		error_set(error,
			"compiled with DPDK %u.%02u, this is DPDK %d.%02d; compile it again",
			found->dpdk / 100, found->dpdk % 100, NF_DPDK / 100, NF_DPDK % 100);
		return -EINVAL;
	}
	const char *what = lacking(found->ops);
	if (what == NULL)
		return 0;
	error_set(error, "its network function has %s; see taut/nf.h", what);
	return -EINVAL;
}

static int load(const char *name, const struct nf_ops **ops, struct error *error)
{
	char path[PATH_MAX + 2];
	int err = check_file(name, error);

	if (err < 0)
		return err;
	// Without a slash the loader would look in folders of its own.
	snprintf(path, sizeof(path), "%s%s", strchr(name, '/') != NULL ? "" : "./", name);
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (object == NULL) {
		error_set(error, "%s; build it as examples/port_filter.c says", load_error(path));
		return -EINVAL;
	}
	const struct nf_export *found = dlsym(object, "taut_nf");
	err = check_export(found, error);
	if (err == 0)
		*ops = found->ops;
	else
		dlclose(object);
	return err;
}

static int find(const char *name, const struct nf_ops **ops, struct error *error)
{
	*ops = nf_find(name);
	if (*ops != NULL)
		return 0;
	error_set(error, "no such network function; --describe lists them");
	return -EINVAL;
}

int nf_open(const char *text, const struct nf_ops **ops, void **options, struct error *error)
{
	char name[PATH_MAX];
	size_t len = strcspn(text, ":");

	snprintf(name, sizeof(name), "%.*s", (int)RTE_MIN(len, sizeof(name) - 1), text);
	int err = is_file(name) ? load(name, ops, error) : find(name, ops, error);
	if (err < 0) {
		error_prefix(error, "--nf %s", name);
		return err;
	}
	*options = calloc(1, RTE_MAX((*ops)->options_size, (size_t)1));
	if (*options == NULL) {
		error_set(error, "--nf %s: out of memory", name);
		return -ENOMEM;
	}
	err = option_parse_list((*ops)->name, (*ops)->options, (*ops)->n_options,
		text[len] == ':' ? text + len + 1 : NULL, *options, error);
	if (err < 0) {
		free(*options);
		*options = NULL;
	}
	return err;
}
