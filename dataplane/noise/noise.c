#include "noise.h"

#include "cpu_list.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	// From the gate to the start: all threads are awake and their memory is in the caches.
	WARM_UP_NS = 20000000,
};

enum gate_state {
	GATE_CLOSED,
	GATE_OPEN,
	GATE_ABANDONED, // a thread is missing: nobody polls
};

// All threads wait here until the last one is there. They sleep: one that spun at a real-time
// priority would keep the next from its core.
struct noise_gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum gate_state state;
	size_t n_waiting;
};

static enum gate_state gate_wait(struct noise_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->n_waiting++;
	pthread_cond_broadcast(&gate->changed);
	while (gate->state == GATE_CLOSED)
		pthread_cond_wait(&gate->changed, &gate->lock);
	enum gate_state state = gate->state;
	pthread_mutex_unlock(&gate->lock);
	return state;
}

static void gate_open(struct noise *noise)
{
	struct noise_gate *gate = noise->gate;

	pthread_mutex_lock(&gate->lock);
	while (gate->n_waiting < noise->n_cores)
		pthread_cond_wait(&gate->changed, &gate->lock);
	noise->start_tsc = clock_tsc() + clock_ticks(WARM_UP_NS, noise->tsc_hz);
	gate->state = GATE_OPEN;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

static void gate_abandon(struct noise_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->state = GATE_ABANDONED;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

static void stop_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(how, &set, NULL);
}

static void *poll_core(void *arg)
{
	struct noise_core *core = arg;
	struct noise *noise = core->noise;

	stop_signals(SIG_UNBLOCK);
	if (gate_wait(noise->gate) == GATE_OPEN) {
		uint64_t ticks = clock_ticks(noise->config.duration_ns, noise->tsc_hz);
		poll_gap_run(&core->poll, noise->start_tsc, noise->start_tsc + ticks,
			noise->config.stop);
	}
	stop_signals(SIG_BLOCK);
	return NULL;
}

// The thread is born on its core and with its priority: it never runs elsewhere.
static int start_core(struct noise_core *core)
{
	int priority = core->noise->config.priority;
	pthread_attr_t attr;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)core->core, &one);
	int err = pthread_attr_init(&attr);
	if (err != 0)
		return -err;
	err = pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	if (err == 0 && priority > 0) {
		const struct sched_param param = {.sched_priority = priority};
		err = pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		if (err == 0)
			err = pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
		if (err == 0)
			err = pthread_attr_setschedparam(&attr, &param);
	}
	if (err == 0)
		err = pthread_create(&core->thread, &attr, poll_core, core);
	pthread_attr_destroy(&attr);
	return -err;
}

// The thread that waits gives way to those that poll, where it can.
static void leave_polled_cores(const cpu_set_t *polled)
{
	cpu_set_t allowed;
	cpu_set_t others;

	if (cpu_list_allowed(&allowed) < 0)
		return;
	CPU_AND(&others, &allowed, polled);
	CPU_XOR(&others, &allowed, &others);
	if (CPU_COUNT(&others) > 0)
		(void)sched_setaffinity(0, sizeof(others), &others);
}

static int measure_clock(struct noise *noise)
{
	struct clock_fit fit;

	clock_points_take(noise->points, CLOCK_POINTS, CLOCK_POINTS_SPREAD_NS);
	int err = clock_fit(noise->points, CLOCK_POINTS, &fit);
	if (err == 0)
		noise->tsc_hz = (uint64_t)(fit.tsc_hz + 0.5);
	return err;
}

static int create_cores(struct noise *noise)
{
	const struct noise_config *config = &noise->config;
	const struct poll_gap_config poll = {
		.threshold_ticks = clock_ticks(config->threshold_ns, noise->tsc_hz),
		.capacity = config->capacity,
	};
	size_t n = (size_t)CPU_COUNT(&config->cores);

	noise->cores = aligned_alloc(_Alignof(struct noise_core), n * sizeof(*noise->cores));
	if (noise->cores == NULL)
		return -ENOMEM;
	for (int core = 0; noise->n_cores < n; core++) {
		struct noise_core *next = &noise->cores[noise->n_cores];
		if (!CPU_ISSET((size_t)core, &config->cores))
			continue;
		int err = poll_gap_create(&next->poll, &poll);
		if (err < 0)
			return err;
		next->noise = noise;
		next->core = core;
		noise->n_cores++;
	}
	return 0;
}

int noise_open(struct noise *noise, const struct noise_config *config, struct error *error)
{
	*noise = (struct noise){.config = *config};
	leave_polled_cores(&config->cores);
	if (measure_clock(noise) < 0) {
		error_set(
			error, "the time stamp counter does not advance with CLOCK_MONOTONIC_RAW");
		return -EINVAL;
	}
	noise->gate = calloc(1, sizeof(*noise->gate));
	if (noise->gate == NULL || create_cores(noise) < 0) {
		error_set(error, "out of memory; fewer --cores or --records");
		return -ENOMEM;
	}
	pthread_mutex_init(&noise->gate->lock, NULL);
	pthread_cond_init(&noise->gate->changed, NULL);
	// Nothing of it may be swapped out; refusal is no reason not to measure.
	(void)mlockall(MCL_CURRENT);
	return 0;
}

static void say_refused(int err, const struct noise_core *core, struct error *error)
{
	if (err == -EPERM)
		error_set(error, "--priority %d: not permitted; run as root or with CAP_SYS_NICE",
			core->noise->config.priority);
	else
		error_set(error, "core %d: cannot start a thread: %s", core->core, strerror(-err));
}

int noise_run(struct noise *noise, struct error *error)
{
	size_t n_started = 0;
	int err = 0;

	stop_signals(SIG_BLOCK);
	while (err == 0 && n_started < noise->n_cores) {
		err = start_core(&noise->cores[n_started]);
		if (err == 0)
			n_started++;
	}
	if (err == 0)
		gate_open(noise);
	else
		gate_abandon(noise->gate);
	for (size_t i = 0; i < n_started; i++)
		pthread_join(noise->cores[i].thread, NULL);
	stop_signals(SIG_UNBLOCK);
	if (err < 0) {
		say_refused(err, &noise->cores[n_started], error);
		return err;
	}
	clock_points_take(&noise->points[CLOCK_POINTS], CLOCK_POINTS, CLOCK_POINTS_SPREAD_NS);
	return 0;
}

void noise_close(struct noise *noise)
{
	for (size_t i = 0; i < noise->n_cores; i++)
		poll_gap_destroy(&noise->cores[i].poll);
	free(noise->cores);
	free(noise->gate);
	*noise = (struct noise){0};
}
