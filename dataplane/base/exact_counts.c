#include "exact_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { N_UNSORTED = 1 << 8, N_SORTED_MAX = 1 << 10 };
#else
enum {
	N_UNSORTED = 1 << 16,
	N_SORTED_MAX = 1 << 18, // 4 MiB; more goes to the file as a run
};
#endif

enum {
	N_DENSE = EXACT_DENSE_END - EXACT_DENSE_LEAST,
	N_RUN_BUFFER = 1 << 10, // counts read at a time from one run
};

struct run {
	uint64_t first, n; // in counts from the start of the file
	struct exact_count *buffer; // while merging
	size_t n_buffered, at;
};

struct exact_spill {
	struct exact_count *sorted, *merged; // N_SORTED_MAX + N_UNSORTED each
	size_t n_sorted;
	int fd; // -1: nothing was spilled
	const char *folder;
	struct run *runs;
	size_t n_runs;
	uint64_t n_in_file;
};

int exact_counts_init(struct exact_counts *counts, const char *folder)
{
	memset(counts, 0, sizeof(*counts));
	counts->dense = mmap(NULL, N_DENSE * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (counts->dense == MAP_FAILED)
		counts->dense = NULL;
	counts->unsorted = malloc(N_UNSORTED * sizeof(int64_t));
	counts->spill = calloc(1, sizeof(*counts->spill));
	if (counts->dense == NULL || counts->unsorted == NULL || counts->spill == NULL)
		goto fail;
	struct exact_spill *spill = counts->spill;
	spill->fd = -1;
	spill->folder = folder;
	spill->sorted = malloc((N_SORTED_MAX + N_UNSORTED) * sizeof(struct exact_count));
	spill->merged = malloc((N_SORTED_MAX + N_UNSORTED) * sizeof(struct exact_count));
	if (spill->sorted == NULL || spill->merged == NULL)
		goto fail;
	return 0;
fail:
	exact_counts_fini(counts);
	return -ENOMEM;
}

void exact_counts_fini(struct exact_counts *counts)
{
	struct exact_spill *spill = counts->spill;

	if (spill != NULL) {
		for (size_t i = 0; i < spill->n_runs; i++)
			free(spill->runs[i].buffer);
		if (spill->fd >= 0)
			close(spill->fd);
		free(spill->runs);
		free(spill->sorted);
		free(spill->merged);
		free(spill);
	}
	if (counts->dense != NULL)
		munmap(counts->dense, N_DENSE * sizeof(uint64_t));
	free(counts->unsorted);
	memset(counts, 0, sizeof(*counts));
}

static int compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

// Merge the sorted new values into the sorted counts.
static void merge_unsorted(struct exact_counts *counts)
{
	struct exact_spill *spill = counts->spill;
	struct exact_count *out = spill->merged;
	size_t i = 0;
	size_t j = 0;

	qsort(counts->unsorted, counts->n_unsorted, sizeof(int64_t), compare_values);
	while (i < spill->n_sorted || j < counts->n_unsorted) {
		if (j == counts->n_unsorted ||
			(i < spill->n_sorted && spill->sorted[i].value < counts->unsorted[j])) {
			*out++ = spill->sorted[i++];
			continue;
		}
		struct exact_count count = {.value = counts->unsorted[j]};
		if (i < spill->n_sorted && spill->sorted[i].value == count.value)
			count.n = spill->sorted[i++].n;
		for (; j < counts->n_unsorted && counts->unsorted[j] == count.value; j++)
			count.n++;
		*out++ = count;
	}
	counts->n_unsorted = 0;
	spill->n_sorted = (size_t)(out - spill->merged);
	struct exact_count *sorted = spill->sorted;
	spill->sorted = spill->merged;
	spill->merged = sorted;
}

// Whole reads and writes at an offset: 0 or -errno.
static int transfer(int fd, void *data, size_t len, off_t offset, bool writes)
{
	char *at = data;

	while (len > 0) {
		ssize_t n = writes ? pwrite(fd, at, len, offset) : pread(fd, at, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		offset += n;
		len -= (size_t)n;
	}
	return 0;
}

// Not every file system (NFS, an older overlay) has files without a name.
static int open_unlinked(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *name;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if (asprintf(&name, "%s/.exact-XXXXXX", folder) < 0)
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name);
	free(name);
	return fd;
}

static int write_run(struct exact_spill *spill, size_t n)
{
	if (spill->fd < 0)
		spill->fd = open_unlinked(spill->folder);
	if (spill->fd < 0)
		return -errno;
	struct run *runs = reallocarray(spill->runs, spill->n_runs + 1, sizeof(*runs));
	if (runs == NULL)
		return -ENOMEM;
	spill->runs = runs;
	runs[spill->n_runs++] = (struct run){.first = spill->n_in_file, .n = n};
	int err = transfer(spill->fd, spill->sorted, n * sizeof(struct exact_count),
		(off_t)(spill->n_in_file * sizeof(struct exact_count)), true);
	spill->n_in_file += n;
	return err;
}

// The sorted counts become a run of the file; room is made even where that fails.
static int spill_sorted(struct exact_spill *spill)
{
	int err = write_run(spill, spill->n_sorted);

	spill->n_sorted = 0;
	return err;
}

void exact_counts_add_outlier(struct exact_counts *counts, int64_t value)
{
	counts->unsorted[counts->n_unsorted++] = value;
	if (counts->n_unsorted < N_UNSORTED)
		return;
	merge_unsorted(counts);
	if (counts->spill->n_sorted < N_SORTED_MAX)
		return;
	int err = spill_sorted(counts->spill);
	if (counts->error == 0)
		counts->error = err;
}

// The next count of a run, or NULL at its end; *err is set where reading failed.
static const struct exact_count *run_peek(
	const struct exact_spill *spill, struct run *run, int *err)
{
	if (run->at < run->n_buffered)
		return &run->buffer[run->at];
	if (run->n == 0 || *err < 0)
		return NULL;
	if (run->buffer == NULL)
		run->buffer = malloc(N_RUN_BUFFER * sizeof(struct exact_count));
	if (run->buffer == NULL) {
		*err = -ENOMEM;
		return NULL;
	}
	run->n_buffered = run->n < N_RUN_BUFFER ? run->n : N_RUN_BUFFER;
	run->at = 0;
	*err = transfer(spill->fd, run->buffer, run->n_buffered * sizeof(struct exact_count),
		(off_t)(run->first * sizeof(struct exact_count)), false);
	run->first += run->n_buffered;
	run->n -= run->n_buffered;
	return *err < 0 ? NULL : run->buffer;
}

// The smallest value of all runs and of the sorted counts, with all its counts. The number of runs
// is small (one for each quarter of a million distinct values), so a scan does.
static bool next_outlier(struct exact_spill *spill, size_t *at, struct exact_count *out, int *err)
{
	bool found = false;

	out->n = 0;
	if (*at < spill->n_sorted) {
		out->value = spill->sorted[*at].value;
		found = true;
	}
	for (size_t i = 0; i < spill->n_runs; i++) {
		const struct exact_count *count = run_peek(spill, &spill->runs[i], err);
		if (count != NULL && (!found || count->value < out->value)) {
			out->value = count->value;
			found = true;
		}
	}
	if (!found || *err < 0)
		return false;
	if (*at < spill->n_sorted && spill->sorted[*at].value == out->value)
		out->n += spill->sorted[(*at)++].n;
	for (size_t i = 0; i < spill->n_runs; i++) {
		const struct exact_count *count = run_peek(spill, &spill->runs[i], err);
		if (count != NULL && count->value == out->value) {
			out->n += count->n;
			spill->runs[i].at++;
		}
	}
	return *err == 0;
}

static int give_dense(const struct exact_counts *counts,
	int (*give)(void *context, const struct exact_count *count), void *context)
{
	for (size_t i = 0; i < N_DENSE; i++) {
		struct exact_count count = {EXACT_DENSE_LEAST + (int64_t)i, counts->dense[i]};
		int err = count.n > 0 ? give(context, &count) : 0;
		if (err != 0)
			return err;
	}
	return 0;
}

int exact_counts_each(struct exact_counts *counts,
	int (*give)(void *context, const struct exact_count *count), void *context)
{
	struct exact_count count;
	bool dense_given = false;
	size_t at = 0;
	int err = counts->error;

	merge_unsorted(counts);
	while (err == 0 && next_outlier(counts->spill, &at, &count, &err)) {
		if (!dense_given && count.value >= EXACT_DENSE_END) {
			dense_given = true;
			err = give_dense(counts, give, context);
		}
		if (err == 0)
			err = give(context, &count);
	}
	if (err == 0 && !dense_given)
		err = give_dense(counts, give, context);
	return err;
}
