#include "energy.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

// 1 kW: no package takes more. In the time in which that fills a counter it comes round once at
// most: 262 s where a step of the 32 bits is 61 uJ, 65 s where it is 15 uJ.
enum { MOST_UJ_PER_NS = 1 };

// Read one word of a domain's file. Returns 0 or -errno.
static int read_word(const char *path, const char *file_name, const char *format, void *out)
{
	char file_path[PATH_MAX];

	snprintf(file_path, sizeof(file_path), "%s/%s", path, file_name);
	FILE *file = fopen(file_path, "re");
	if (file == NULL)
		return -errno;
	errno = 0;
	int err = fscanf(file, format, out) == 1 ? 0 : -(errno != 0 ? errno : EINVAL);
	fclose(file);
	return err;
}

static int read_domain(struct energy_domain *domain, const char *path, struct error *error)
{
	snprintf(domain->zone, sizeof(domain->zone), "%s", strrchr(path, '/') + 1);
	int err = read_word(path, "name", "%31s", domain->name);
	if (err == 0)
		err = read_word(path, "max_energy_range_uj", "%" SCNu64, &domain->range_uj);
	if (err == 0)
		err = read_word(path, "energy_uj", "%" SCNu64, &domain->uj);
	if (err < 0)
		error_set(error, "powercap %s: %s%s", domain->zone, strerror(-err),
			err == -EACCES ? "; root may read it" : "");
	return err;
}

void energy_take(struct energy *out, const char *powercap)
{
	char pattern[PATH_MAX];
	glob_t found;

	out->n = 0;
	out->why_not.text[0] = '\0';
	// Not intel-rapl-mmio: that is package-0 once more.
	snprintf(pattern, sizeof(pattern), "%s/intel-rapl:*",
		powercap != NULL ? powercap : "/sys/class/powercap");
	if (glob(pattern, 0, NULL, &found) != 0) {
		error_set(&out->why_not, "no powercap domain (intel-rapl) on this machine");
		return;
	}
	if (found.gl_pathc > ENERGY_DOMAINS_MAX)
		error_set(&out->why_not, "%zu powercap domains, %d at most are read",
			found.gl_pathc, ENERGY_DOMAINS_MAX);
	for (size_t i = 0; i < found.gl_pathc && out->why_not.text[0] == '\0'; i++)
		if (read_domain(&out->domains[i], found.gl_pathv[i], &out->why_not) == 0)
			out->n++;
	if (out->why_not.text[0] != '\0')
		out->n = 0;
	globfree(&found);
}

static bool has_same_domains(const struct energy *a, const struct energy *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->domains[i].zone, b->domains[i].zone) != 0)
			return false;
	return true;
}

void energy_between(const struct energy *before, const struct energy *after, uint64_t elapsed_ns,
	struct energy *out)
{
	*out = before->n == 0 ? *before : *after;
	if (out->n == 0)
		return;
	if (!has_same_domains(before, after)) {
		error_set(&out->why_not, "powercap domains came or went meanwhile");
		out->n = 0;
		return;
	}
	for (size_t i = 0; i < out->n; i++) {
		struct energy_domain *domain = &out->domains[i];
		uint64_t before_uj = before->domains[i].uj;
		domain->is_known = elapsed_ns < domain->range_uj / MOST_UJ_PER_NS;
		// It came round: the range lacks one step of the counter, some 60 uJ.
		if (domain->uj < before_uj)
			domain->uj += domain->range_uj;
		domain->uj -= before_uj;
	}
}
