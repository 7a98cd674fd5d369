#include "injector.h"

#include "cause_table.h"
#include "cpu_list.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	// An act may be noted as several: the scheduler may divide it.
	RECORDS_PER_ACT = 2,
	SPARE_RECORDS = 1024,
	MAX_RECORDS = 1 << 22, // 128 MB: more are counted only
};

static int measure_clock(struct injector *injector, struct error *error)
{
	struct clock_fit fit;

	clock_points_take(injector->points, CLOCK_POINTS, CLOCK_POINTS_SPREAD_NS);
	int err = clock_fit(injector->points, CLOCK_POINTS, &fit);
	if (err < 0) {
		error_set(
			error, "the time stamp counter does not advance with CLOCK_MONOTONIC_RAW");
		return err;
	}
	injector->tsc_hz = (uint64_t)(fit.tsc_hz + 0.5);
	return 0;
}

// The calling thread goes where the victim is not.
static int leave_core(const struct injector *injector, struct error *error)
{
	cpu_set_t allowed;
	int err = cpu_list_reachable(&allowed);

	if (err == 0)
		CPU_CLR((size_t)injector->config.core, &allowed);
	if (err == 0 && CPU_COUNT(&allowed) > 0)
		return sched_setaffinity(0, sizeof(allowed), &allowed) < 0 ? -errno : 0;
	if (injector->ops->place == CAUSE_ON_CORE)
		return 0;
	error_set(error, "%s: acts from another CPU than core %d, and there is none to use",
		injector->ops->name, injector->config.core);
	return -EINVAL;
}

static int create_log(struct injector *injector, struct error *error)
{
	const struct injector_config *config = &injector->config;
	uint64_t n = act_rate_count(&config->rate, config->duration_ns) * RECORDS_PER_ACT +
		     SPARE_RECORDS;

	injector->log = injection_log_create(config->cause, n > MAX_RECORDS ? MAX_RECORDS : n);
	if (injector->log != NULL)
		return 0;
	error_set(error, "out of memory; lower --rate or --duration");
	return -ENOMEM;
}

static int start_poller(struct injector *injector, struct error *error)
{
	const struct injector_config *config = &injector->config;
	const struct poller_config poller = {
		.core = config->core,
		.is_child = injector->ops->victim == CAUSE_POLLING_CHILD,
		.tsc_hz = injector->tsc_hz,
		.threshold_ns = config->threshold_ns,
		.capacity = config->capacity,
		.log = injector->log,
		.gaps_path = config->gaps_path,
		.first = injector->points[0],
	};

	if (config->victim > 0)
		return 0;
	return poller_open(&poller, &injector->poller, error);
}

static int init_cause(struct injector *injector, struct error *error)
{
	const struct injector_config *config = &injector->config;
	const struct cause_ops *ops = injector->ops;
	void *options = calloc(1, ops->options_size + 1);
	int err = -ENOMEM;

	injector->state = calloc(1, ops->state_size);
	if (options == NULL || injector->state == NULL) {
		error_set(error, "out of memory");
		goto out;
	}
	pid_t child = injector->poller == NULL ? 0 : poller_pid(injector->poller);
	injector->env = (struct cause_env){
		.core = config->core,
		.tsc_hz = injector->tsc_hz,
		.victim_pid = config->victim > 0 ? config->victim
			      : child > 0	 ? child
						 : getpid(),
		.poller = injector->poller,
		.log = injector->log,
		.stop = config->stop,
	};
	err = option_parse_list(
		ops->name, ops->options, ops->n_options, config->cause_options, options, error);
	if (err == 0)
		err = ops->init(injector->state, options, &injector->env, error);
out:
	free(options);
	return err;
}

int injector_open(
	struct injector *injector, const struct injector_config *config, struct error *error)
{
	*injector = (struct injector){.config = *config, .ops = cause_table[config->cause]};
	int err = measure_clock(injector, error);
	if (err == 0)
		err = leave_core(injector, error);
	if (err == 0)
		err = create_log(injector, error);
	if (err == 0)
		err = start_poller(injector, error);
	if (err == 0)
		err = init_cause(injector, error);
	act_schedule_init(&injector->schedule, &config->rate, config->seed);
	return err;
}

static void stop_signals(int how, sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(how, &set, before);
}

// Signals are let in here and nowhere else, so that none comes between the look and the sleep.
static void sleep_until(const struct injector *injector, uint64_t tsc)
{
	uint64_t now = clock_tsc();
	sigset_t open;

	pthread_sigmask(SIG_BLOCK, NULL, &open);
	sigdelset(&open, SIGINT);
	sigdelset(&open, SIGTERM);
	while (*injector->config.stop == 0) {
		uint64_t ns = now < tsc ? clock_ns(tsc - now, injector->tsc_hz) : 0;
		const struct timespec pause = {
			.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
		(void)ppoll(NULL, 0, &pause, &open);
		now = clock_tsc();
		if (now >= tsc)
			return;
	}
}

// As with --wait. The signal that says so may have come before.
static void wait_to_begin(const struct injector_config *config)
{
	sigset_t open;

	pthread_sigmask(SIG_BLOCK, NULL, &open);
	sigdelset(&open, SIGINT);
	sigdelset(&open, SIGTERM);
	sigdelset(&open, SIGUSR1);
	while (config->begin != NULL && *config->begin == 0 && *config->stop == 0)
		(void)ppoll(NULL, 0, NULL, &open);
}

static void act(struct injector *injector)
{
	int n = injector->ops->once(injector->state);

	if (n == -ESRCH)
		injector->victim_ended = true;
	else if (n < 0)
		injector->err = n;
	else if (n == 0)
		injector->n_not_sent++;
	else
		injector->n_sent++;
}

// With sent and not sent it makes the acts that were due.
static void count_overdue(struct injector *injector, uint64_t due)
{
	while (due < injector->end_tsc) {
		injector->n_overdue++;
		due = injector->start_tsc +
		      clock_ticks(act_schedule_next(&injector->schedule), injector->tsc_hz);
	}
}

static void *act_on_schedule(void *arg)
{
	struct injector *injector = arg;
	const struct injector_config *config = &injector->config;
	uint64_t hz = injector->tsc_hz;
	uint64_t period_ticks = clock_ticks(act_rate_period_ns(&config->rate), hz);

	// Else the kernel puts off wake-ups by 50 us to have several at once.
	prctl(PR_SET_TIMERSLACK, 1UL);
	injector->tid = gettid();
	wait_to_begin(config);
	injector->start_tsc = clock_tsc();
	injector->end_tsc = injector->start_tsc + clock_ticks(config->duration_ns, hz);
	while (injector->err == 0 && !injector->victim_ended) {
		uint64_t due = injector->start_tsc +
			       clock_ticks(act_schedule_next(&injector->schedule), hz);
		sleep_until(injector, due < injector->end_tsc ? due : injector->end_tsc);
		// Acts that take longer than their period do not outlast the duration.
		uint64_t now = clock_tsc();
		if (*config->stop != 0)
			break;
		if (now >= injector->end_tsc) {
			count_overdue(injector, due);
			break;
		}
		if (now - due > period_ticks)
			injector->n_late++;
		act(injector);
	}
	injector->end_tsc = clock_tsc();
	return NULL;
}

// The thread is born on the core and with its priority.
static int act_on_core(struct injector *injector)
{
	const struct sched_param param = {.sched_priority = injector->ops->fifo_priority};
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t core;

	CPU_ZERO(&core);
	CPU_SET((size_t)injector->config.core, &core);
	int err = pthread_attr_init(&attr);
	if (err != 0)
		return -err;
	err = pthread_attr_setaffinity_np(&attr, sizeof(core), &core);
	if (err == 0 && param.sched_priority > 0) {
		err = pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		if (err == 0)
			err = pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
		if (err == 0)
			err = pthread_attr_setschedparam(&attr, &param);
	}
	if (err == 0)
		err = pthread_create(&thread, &attr, act_on_schedule, injector);
	if (err == 0)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

// Who acts from afar shall not lose its CPU between seeing the victim run and acting: at a
// real-time priority where that is permitted, which keeps other threads waiting for as long as an
// act lasts.
static void act_from_afar(struct injector *injector)
{
	const struct sched_param low = {.sched_priority = 1};
	const struct sched_param none = {0};
	int policy = sched_getscheduler(0);
	bool is_raised = policy == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO, &low) == 0;

	(void)act_on_schedule(injector);
	if (is_raised)
		(void)sched_setscheduler(0, policy, &none);
}

int injector_run(struct injector *injector, struct error *error)
{
	sigset_t before;
	int err = 0;

	stop_signals(SIG_BLOCK, &before);
	if (injector->ops->place == CAUSE_ON_CORE)
		err = act_on_core(injector);
	else
		act_from_afar(injector);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err == -EPERM)
		error_set(error,
			"%s: a thread with SCHED_FIFO is not permitted; run as root or with "
			"CAP_SYS_NICE",
			injector->ops->name);
	else if (err < 0)
		error_set(error, "%s: cannot start a thread: %s", injector->ops->name,
			strerror(-err));
	if (err < 0)
		return err;
	err = injector->poller == NULL ? 0 : poller_stop(injector->poller);
	clock_points_take(&injector->points[CLOCK_POINTS], CLOCK_POINTS, CLOCK_POINTS_SPREAD_NS);
	if (err < 0)
		error_set(error, "gaps of the poller are not written: %s", strerror(-err));
	else if (injector->err < 0)
		error_set(error, "%s: an act failed: %s", injector->ops->name,
			strerror(-injector->err));
	return err < 0 ? err : injector->err;
}

int injector_close(struct injector *injector, struct error *error)
{
	int err = 0;

	// First the poller: it may use what the cause gives back.
	if (injector->poller != NULL)
		(void)poller_stop(injector->poller);
	if (injector->state != NULL && injector->ops->fini != NULL)
		err = injector->ops->fini(injector->state, error);
	free(injector->state);
	poller_close(injector->poller);
	injection_log_destroy(injector->log);
	*injector = (struct injector){0};
	return err;
}
