#include "record_writer.h"

#include "pace.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	WRITE_BYTES = 16 << 10, // well below a piece (pace.h)
	MIN_SLEEP_MS = 10,
	MAX_SLEEP_MS = 60 * 1000,
	// Where no rate was announced: a higher one than was seen may come.
	MAX_UNKNOWN_MS = 500,
};

// What the writer thread owns.
struct record_writer_thread {
	pthread_t id;
	bool running;
	pthread_mutex_t lock; // guards stop; the measuring thread takes it only in close
	pthread_cond_t wake;
	bool stop;
	double per_second; // last known rate of records
	uint32_t within_ms; // 0: as long as the ring has room
	uint32_t most_ms; // it sleeps
	struct pace pace;
	struct record_file file;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool record_writer_has_room(struct record_writer *writer)
{
	// Pairs with the release store of tail in drain(): its reads of the slots come before.
	uint64_t tail = atomic_load_explicit(&writer->tail, memory_order_acquire);
	uint64_t until = least(tail + writer->mask + 1, writer->most);

	writer->n_known_free_until = until;
	if (writer->n_produced < until) {
		writer->is_stalled = false;
		return true;
	}
	if (writer->n_produced == writer->most)
		return false;
	// One stall lasts until the writer thread has freed something.
	if (!writer->is_stalled)
		atomic_fetch_add_explicit(&writer->n_stalls, 1, memory_order_relaxed);
	writer->is_stalled = true;
	return false;
}

// Write all that was published when called, with rests if a pace is given. Returns 0 or -errno.
static int drain(struct record_writer *writer, struct pace *pace)
{
	// Pairs with the release store in record_writer_publish.
	uint64_t head = atomic_load_explicit(&writer->head, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(&writer->tail, memory_order_relaxed);

	while (tail < head) {
		uint64_t n = head - tail;
		uint64_t until_wrap = writer->mask + 1 - (tail & writer->mask);
		if (n > until_wrap)
			n = until_wrap;
		if (n > WRITE_BYTES / writer->record_size)
			n = WRITE_BYTES / writer->record_size;
		int err = record_file_append(&writer->thread->file,
			writer->ring + (tail & writer->mask) * writer->record_size, n);
		if (err < 0)
			return err;
		tail += n;
		// Pairs with the acquire load in record_writer_has_room.
		atomic_store_explicit(&writer->tail, tail, memory_order_release);
		pace_step(pace);
	}
	return 0;
}

// How long the ring needs at the present rate until it is half full.
static uint64_t sleep_ms(const struct record_writer *writer, uint64_t n_waiting)
{
	uint64_t half = (writer->mask + 1) / 2;
	double left = half > n_waiting ? (double)(half - n_waiting) : 0;
	double rate = writer->thread->per_second;
	double ms = rate > 0 ? left / rate * 1000 : MIN_SLEEP_MS;

	if (ms < MIN_SLEEP_MS)
		return MIN_SLEEP_MS;
	return ms > writer->thread->most_ms ? writer->thread->most_ms : (uint64_t)ms;
}

// Returns false when the thread shall end.
static bool sleep_for(struct record_writer_thread *thread, uint64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&thread->lock);
	while (!thread->stop &&
		pthread_cond_timedwait(&thread->wake, &thread->lock, &until) != ETIMEDOUT)
		;
	bool go_on = !thread->stop;
	pthread_mutex_unlock(&thread->lock);
	return go_on;
}

static uint64_t n_in_ring(const struct record_writer *writer)
{
	uint64_t head = atomic_load_explicit(&writer->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&writer->tail, memory_order_relaxed);

	return head - tail;
}

// Between two pieces of a drain. In a ring that is nearly full records would be lost: that is worse
// than a long piece.
static void rest(void *context)
{
	const struct record_writer *writer = context;

	if (n_in_ring(writer) <= (writer->mask + 1) / 4 * 3)
		(void)sleep_for(writer->thread, PACE_REST_MS);
}

static void *writer_run(void *arg)
{
	struct record_writer *writer = arg;
	struct pace *pace = &writer->thread->pace;
	const struct sched_param batch = {.sched_priority = 0};
	uint64_t n_waiting = 0;
	uint64_t slept_ms;

	// It may share a core with a polling thread: as a batch thread it takes that core in its
	// turn, and not at once whenever it wakes up. A hint: it works without.
	(void)sched_setscheduler(0, SCHED_BATCH, &batch);
	do {
		slept_ms = sleep_ms(writer, n_waiting);
		bool go_on = sleep_for(writer->thread, slept_ms);
		uint64_t n_now = n_in_ring(writer);
		// A run that is faster than announced wakes the writer too late at most once.
		double seen = (double)(n_now - n_waiting) * 1000 / (double)slept_ms;
		if (go_on && seen > writer->thread->per_second)
			writer->thread->per_second = seen;
		n_waiting = n_now;
		if (!go_on)
			return NULL;
		// Fewer may wait where the rate is below the announced one. With more the next
		// sleeps would be ever shorter, and the wake-ups ever more.
		if (n_waiting < (writer->mask + 1) / 4 && writer->thread->within_ms == 0)
			continue;
		pace_begin(pace);
		int err = drain(writer, pace);
		if (err < 0) {
			// Pairs with the acquire load in record_writer_error.
			atomic_store_explicit(&writer->error, err, memory_order_release);
			return NULL;
		}
		// What came during the drain, which takes its time.
		n_waiting = n_in_ring(writer);
	} while (true);
}

static int create_ring(struct record_writer *writer, size_t ring_bytes)
{
	uint64_t n = 1;

	while (n * 2 * writer->record_size <= ring_bytes)
		n *= 2;
	writer->mask = n - 1;
	writer->n_known_free_until = least(n, writer->most);
	void *ring = mmap(NULL, n * writer->record_size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring == MAP_FAILED)
		return -errno;
	(void)madvise(ring, n * writer->record_size, MADV_HUGEPAGE);
	// Touched now, so that no page fault comes in the run.
	memset(ring, 0, n * writer->record_size);
	writer->ring = ring;
	return 0;
}

static int start_thread(struct record_writer *writer, int core)
{
	struct record_writer_thread *thread = writer->thread;
	pthread_condattr_t attr;
	cpu_set_t cpus;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&thread->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&thread->lock, NULL);

	int err = pthread_create(&thread->id, NULL, writer_run, writer);
	if (err != 0)
		return -err;
	thread->running = true;
	pthread_setname_np(thread->id, "taut-writer");
	if (core < 0)
		return 0;
	CPU_ZERO(&cpus);
	CPU_SET((unsigned int)core, &cpus);
	return -pthread_setaffinity_np(thread->id, sizeof(cpus), &cpus);
}

static void stop_thread(struct record_writer_thread *thread)
{
	if (!thread->running)
		return;
	pthread_mutex_lock(&thread->lock);
	thread->stop = true;
	pthread_cond_signal(&thread->wake);
	pthread_mutex_unlock(&thread->lock);
	pthread_join(thread->id, NULL);
	thread->running = false;
	pthread_cond_destroy(&thread->wake);
	pthread_mutex_destroy(&thread->lock);
}

int record_writer_create(const struct record_writer_config *config, struct record_writer **out)
{
	struct record_writer *writer = aligned_alloc(64, sizeof(*writer));
	static const struct clock_point never;
	int err = -ENOMEM;

	if (writer == NULL)
		return err;
	memset(writer, 0, sizeof(*writer));
	writer->record_size = (uint32_t)record_size_of(config->kind);
	writer->most = config->most != 0 ? config->most : UINT64_MAX;
	writer->thread = calloc(1, sizeof(*writer->thread));
	if (writer->thread == NULL)
		goto fail;
	writer->thread->file.fd = -1;
	writer->thread->per_second = config->expected_per_second;
	writer->thread->within_ms = config->within_ms;
	writer->thread->most_ms = config->expected_per_second > 0 ? MAX_SLEEP_MS : MAX_UNKNOWN_MS;
	if (config->within_ms != 0 && config->within_ms < writer->thread->most_ms)
		writer->thread->most_ms = config->within_ms;
	writer->thread->pace = (struct pace){
		.piece_ticks = clock_ticks(PACE_PIECE_NS, config->header.nominal_tsc_hz),
		.rest = rest,
		.context = writer,
	};
	err = create_ring(writer, config->ring_bytes);
	if (err < 0)
		goto fail;
	err = record_file_create(
		&writer->thread->file, config->path, config->kind, &config->header);
	if (err < 0)
		goto fail;
	err = start_thread(writer, config->core);
	if (err < 0)
		goto fail;

	*out = writer;
	return 0;
fail:
	record_writer_close(writer, &never, NULL, NULL);
	return err;
}

void record_writer_set_epoch(struct record_writer *writer, uint64_t epoch_tsc)
{
	writer->thread->file.header.epoch_tsc = epoch_tsc;
}

// What the ring holds, by the calling thread: the writer thread has ended then.
static int write_rest(struct record_writer *writer)
{
	stop_thread(writer->thread);
	int err = record_writer_error(writer);
	if (err == 0 && writer->thread->file.fd >= 0) {
		record_writer_publish(writer);
		err = drain(writer, NULL);
		atomic_store_explicit(&writer->error, err, memory_order_relaxed);
	}
	return err;
}

void record_writer_make_room(struct record_writer *writer)
{
	if (writer->n_produced == writer->n_known_free_until && writer->n_produced < writer->most)
		(void)write_rest(writer);
}

int record_writer_close(struct record_writer *writer, const struct clock_point *last,
	uint64_t *n_written, uint64_t *n_lost)
{
	int err = 0;

	if (writer == NULL)
		return 0;
	if (writer->thread != NULL) {
		err = write_rest(writer);
		if (n_written != NULL)
			*n_written = writer->thread->file.header.n_records;
		int close_err = record_file_close(&writer->thread->file, last);
		if (err == 0)
			err = close_err;
	}
	if (n_lost != NULL)
		*n_lost = writer->n_lost;
	if (writer->ring != NULL)
		munmap(writer->ring, (writer->mask + 1) * writer->record_size);
	free(writer->thread);
	free(writer);
	return err;
}

int record_writer_end_log(struct record_writer **writer, uint64_t n, uint64_t epoch_tsc,
	const struct clock_point *last, uint64_t *n_missing)
{
	uint64_t n_written = 0;

	if (*writer == NULL)
		return 0;
	record_writer_set_epoch(*writer, epoch_tsc);
	int err = record_writer_close(*writer, last, &n_written, NULL);
	*writer = NULL;
	*n_missing = n - n_written;
	return err;
}
