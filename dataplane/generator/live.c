#include "live.h"

#include "generator.h"
#include "record_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	HUGE_PAGE = 2 << 20,
	NAMES_AT = 512, // of the counters, behind the header
	GENERATOR_AT = 4096,
};

static size_t round_up(size_t n)
{
	return (n + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

// Histograms begin with a huge page, so that they take as few as in memory of their own.
static size_t histograms_at(uint32_t set)
{
	return round_up(GENERATOR_AT + sizeof(struct generator)) +
	       set * round_up(N_GENERATOR_SERIES * sizeof(struct histogram));
}

static int map(struct live *live)
{
	live->fd = memfd_create("taut-live", MFD_CLOEXEC);
	if (live->fd < 0 || ftruncate(live->fd, (off_t)live->size) < 0)
		return -errno;
	// Room for a start at a huge page; what is too much costs addresses only.
	uint8_t *room = mmap(NULL, live->size + HUGE_PAGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return -errno;
	uint8_t *start = (uint8_t *)round_up((uintptr_t)room);
	void *shared = mmap(
		start, live->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, live->fd, 0);
	if (shared == MAP_FAILED)
		return -errno;
	live->map = shared;
	(void)madvise(live->map, live->size, MADV_HUGEPAGE);
	// Touched now, so that no page fault comes in the run.
	memset(live->map, 0, live->size);
	return 0;
}

struct generator *live_create(struct live *live, const struct config *config, struct error *error)
{
	*live = (struct live){.fd = -1};
	if (!config->options.publish) {
		// Aligned and large: not on the stack.
		struct generator *own =
			aligned_alloc(_Alignof(struct generator), sizeof(struct generator));
		if (own == NULL)
			error_set(error, "out of memory");
		else
			memset(own, 0, sizeof(*own));
		return own;
	}
	live->size = histograms_at(config->options.both ? 4 : 2);
	int err = map(live);
	if (err < 0) {
		error_set(error, "memory: %zu MiB that others can read: %s; free some",
			live->size >> 20, strerror(-err));
		return NULL;
	}
	return (struct generator *)(live->map + GENERATOR_AT);
}

struct histogram *live_histograms(struct live *live, uint32_t direction, bool is_void)
{
	if (live->map == NULL)
		return NULL;
	return (struct histogram *)(live->map + histograms_at(2 * direction + is_void));
}

static void write_names(char *text, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < n_counter_names && at < len; i++)
		at += (size_t)snprintf(text + at, len - at, "%s\n", counter_names[i].name);
}

int live_publish(struct live *live, const struct generator *g, struct error *error)
{
	struct live_header *header = (struct live_header *)live->map;
	char target[64];

	if (live->map == NULL)
		return 0;
	*header = (struct live_header){
		.magic = LIVE_MAGIC,
		.version = LIVE_VERSION,
		.n_directions = g->n_directions,
		.run_id = g->config->run_id,
		.n_counters = (uint32_t)n_counter_names,
		.tsc_hz = g->tsc_hz,
		.first = g->points[0],
		.warm_up_ns = g->config->options.warm_up_ns,
		.duration_ns = g->config->duration_ns,
		.gaps_at = (uint64_t)((const uint8_t *)&g->loop.gaps.log.n - live->map),
		.names_at = NAMES_AT,
		.n_series = N_GENERATOR_SERIES,
		.n_buckets = HISTOGRAM_N_BUCKETS,
		.exact_bits = HISTOGRAM_EXACT_BITS,
		.sub_bits = HISTOGRAM_SUB_BITS,
	};
	for (uint32_t i = 0; i < g->n_directions; i++) {
		const struct counters *counters = &g->measurements[i].counters;
		header->counters_at[i] = (uint64_t)((const uint8_t *)counters - live->map);
		for (uint32_t is_void = 0; is_void < 2; is_void++)
			header->histograms_at[i][is_void] = histograms_at(2 * i + is_void);
	}
	write_names((char *)live->map + NAMES_AT, GENERATOR_AT - NAMES_AT);
	generator_path(g, "live", live->path, sizeof(live->path));
	snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), live->fd);
	(void)unlink(live->path);
	if (symlink(target, live->path) < 0) {
		error_set(error, "%s: %s; give --out a folder that takes links, or no --publish",
			live->path, strerror(errno));
		live->path[0] = '\0';
		return -errno;
	}
	return 0;
}

void live_started(struct live *live, uint64_t epoch_tsc)
{
	struct live_header *header = (struct live_header *)live->map;

	// A reader that sees it sees the header, too.
	if (header != NULL)
		atomic_store_explicit(&header->epoch_tsc, epoch_tsc, memory_order_release);
}

void live_ended(struct live *live, uint64_t end_tsc)
{
	struct live_header *header = (struct live_header *)live->map;

	if (header != NULL)
		atomic_store_explicit(&header->end_tsc, end_tsc, memory_order_release);
}

void live_destroy(struct live *live, struct generator *generator)
{
	if (live->path[0] != '\0')
		(void)unlink(live->path);
	if (live->map == NULL)
		free(generator);
	else
		munmap(live->map, live->size);
	if (live->fd >= 0)
		(void)close(live->fd);
}
