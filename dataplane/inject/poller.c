#include "poller.h"

#include "poll_gap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	START_TRIES = 60000, // of a millisecond
	YOUNG_NS = 5000, // a reading of the clock this young: it runs
	AWAY_FACTOR = 40, // this much older: it will be away for a while
	PAUSE_NS = 50000,
};

// In memory that parent and child share.
struct poller {
	// Written at each reading of the clock, relaxed: on one core the clock only grows, and who
	// reads it from afar wants to know that it goes on, nothing else.
	_Alignas(64) _Atomic uint64_t last_tsc;
	// Asked by the injector (release), done and cleared by the poller (acquire, release).
	_Atomic(void (*)(void *)) call;
	void *call_arg;

	_Alignas(64) atomic_bool stop; // by the injector
	atomic_bool is_polling;
	_Atomic int tid;
	pid_t pid; // of the child; 0: a thread
	pthread_t thread;
	bool is_started;
	struct poller_config config;
	struct poll_gap gaps;
	struct poller_result result;
};

static void answer_call(struct poller *poller)
{
	// Pairs with the release in poller_call: call_arg is then there.
	void (*function)(void *) = atomic_load_explicit(&poller->call, memory_order_acquire);

	if (function == NULL)
		return;
	function(poller->call_arg);
	// Pairs with the acquire in poller_call: what function wrote is then seen.
	atomic_store_explicit(&poller->call, NULL, memory_order_release);
}

// Hot path.
static void poll_until_stopped(struct poller *poller)
{
	struct poll_gap *gaps = &poller->gaps;
	uint64_t before = clock_tsc();

	gaps->first_tsc = before;
	while (!atomic_load_explicit(&poller->stop, memory_order_relaxed)) {
		uint64_t now = clock_tsc();
		poll_gap_account(gaps, before, now);
		atomic_store_explicit(&poller->last_tsc, now, memory_order_relaxed);
		if (atomic_load_explicit(&poller->call, memory_order_relaxed) != NULL)
			answer_call(poller);
		before = now;
	}
	// Who is told to stop while it waits for its core was kept from it until now.
	gaps->last_tsc = clock_tsc();
	poll_gap_account(gaps, before, gaps->last_tsc);
}

// By the poller itself: a child's gaps are in the child's memory only.
static int write_gaps(const struct poller *poller)
{
	const struct poller_config *config = &poller->config;
	struct record_file_header header = {
		.epoch_tsc = poller->gaps.first_tsc,
		.nominal_tsc_hz = config->tsc_hz,
		.first = config->first,
		.thread = "noise",
	};
	struct clock_point last;

	if (*config->gaps_path == '\0')
		return 0;
	clock_point_take(&last);
	return gap_log_write(&poller->gaps.gaps, config->gaps_path, &header, &last);
}

static void say_result(struct poller *poller)
{
	const struct injection_log *log = poller->config.log;
	const struct gap_log *gaps = &poller->gaps.gaps;
	size_t n_kept = gap_log_kept(gaps);
	bool is_whole = gaps->not_logged == 0;
	uint64_t last_tsc = is_whole ? UINT64_MAX : gaps->records[n_kept - 1].end_tsc;

	poller->result.first_tsc = poller->gaps.first_tsc;
	poller->result.last_tsc = poller->gaps.last_tsc;
	poller->result.n_gaps = gaps->n;
	poller->result.gaps_not_logged = gaps->not_logged;
	poller->result.n_felt = injection_log_felt(log, gaps->records, n_kept);
	poller->result.n_judged = injection_log_begun(log, last_tsc);
	poller->result.error = write_gaps(poller);
}

static void *run(void *arg)
{
	struct poller *poller = arg;
	const struct poll_gap_config gaps = {
		.threshold_ticks = clock_ticks(poller->config.threshold_ns, poller->config.tsc_hz),
		.capacity = poller->config.capacity,
	};
	int err = poll_gap_create(&poller->gaps, &gaps);

	if (err < 0) {
		poller->result.error = err;
		return NULL;
	}
	atomic_store(&poller->tid, gettid());
	atomic_store(&poller->is_polling, true);
	poll_until_stopped(poller);
	say_result(poller);
	poll_gap_destroy(&poller->gaps);
	return NULL;
}

static int start_thread(struct poller *poller, const cpu_set_t *core)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int err = pthread_attr_init(&attr);

	if (err != 0)
		return -err;
	// Signals are for the injector.
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_attr_setaffinity_np(&attr, sizeof(*core), core);
	if (err == 0)
		err = pthread_create(&poller->thread, &attr, run, poller);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static int start_child(struct poller *poller, const cpu_set_t *core)
{
	pid_t parent = getpid();
	sigset_t all;

	pid_t child = fork();
	if (child < 0)
		return -errno;
	if (child > 0) {
		poller->pid = child;
		return 0;
	}
	// Ctrl-C of a terminal goes to both; it is the parent who ends us.
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || sched_setaffinity(0, sizeof(*core), core) < 0)
		_exit(1);
	run(poller);
	_exit(0);
}

static bool wait_until_polling(struct poller *poller)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < START_TRIES; i++) {
		if (atomic_load(&poller->is_polling))
			return true;
		if (poller->result.error < 0)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

int poller_open(const struct poller_config *config, struct poller **out, struct error *error)
{
	struct poller *poller = mmap(NULL, sizeof(*poller), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	cpu_set_t core;

	*out = NULL;
	if (poller == MAP_FAILED) {
		error_set(error, "out of memory");
		return -ENOMEM;
	}
	*out = poller;
	poller->config = *config;
	CPU_ZERO(&core);
	CPU_SET((size_t)config->core, &core);
	int err = config->is_child ? start_child(poller, &core) : start_thread(poller, &core);
	poller->is_started = err == 0;
	if (err == 0 && !wait_until_polling(poller))
		err = poller->result.error < 0 ? poller->result.error : -ETIMEDOUT;
	if (err < 0)
		error_set(error, "core %d: cannot poll on it: %s", config->core, strerror(-err));
	return err;
}

int poller_stop(struct poller *poller)
{
	if (!poller->is_started)
		return 0;
	atomic_store(&poller->stop, true);
	poller->is_started = false;
	if (poller->pid == 0) {
		pthread_join(poller->thread, NULL);
		return poller->result.error;
	}
	int status = 0;
	while (waitpid(poller->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (poller->result.error == 0 && status != 0)
		return -ECHILD;
	return poller->result.error;
}

void poller_close(struct poller *poller)
{
	if (poller == NULL)
		return;
	(void)poller_stop(poller);
	(void)munmap(poller, sizeof(*poller));
}

bool poller_is_running(struct poller *poller, uint64_t timeout_ticks)
{
	uint64_t young_ticks = clock_ticks(YOUNG_NS, poller->config.tsc_hz);
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t start = clock_tsc();

	for (uint64_t now = start; now - start < timeout_ticks; now = clock_tsc()) {
		uint64_t last = poller_last_tsc(poller);
		// Other CPUs' clocks may be a little ahead of ours.
		if (last + young_ticks > now)
			return true;
		// Another thread may need this CPU more.
		if (now - last > AWAY_FACTOR * young_ticks)
			(void)nanosleep(&pause, NULL);
	}
	return false;
}

bool poller_call(struct poller *poller, void (*function)(void *), void *arg, uint64_t timeout_ticks)
{
	if (!poller_is_running(poller, timeout_ticks))
		return false;
	poller->call_arg = arg;
	// Pairs with the acquire in answer_call.
	atomic_store_explicit(&poller->call, function, memory_order_release);
	// From here on it will be done, and arg must stay until then: only its end is waited for.
	while (atomic_load_explicit(&poller->call, memory_order_acquire) != NULL) {
	}
	return true;
}

uint64_t poller_last_tsc(const struct poller *poller)
{
	return atomic_load_explicit(&poller->last_tsc, memory_order_relaxed);
}

pid_t poller_tid(const struct poller *poller)
{
	return atomic_load(&poller->tid);
}

pid_t poller_pid(const struct poller *poller)
{
	return poller->pid;
}

const struct poller_result *poller_result(const struct poller *poller)
{
	return &poller->result;
}
