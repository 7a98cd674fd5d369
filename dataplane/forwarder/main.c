// taut-forward: read the command line, open ports, run the worker on this thread, say what it did.

#include "clock.h"
#include "command_line.h"
#include "config.h"
#include "eal.h"
#include "poll_grace.h"
#include "pool.h"
#include "port_interrupt.h"
#include "program.h"
#include "stats.h"
#include "worker.h"

#include <rte_errno.h>
#include <rte_malloc.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	POOL_SPARE = 2048, // the pool's cache and the bursts under way
};

struct forwarder {
	struct config config;
	struct eal eal;
	struct rte_mempool *pool;
	struct worker *worker;
	uint64_t tsc_hz;
	struct clock_point first;
};

static unsigned int pool_size(const struct config *config)
{
	const struct options *options = &config->options;
	unsigned int n_held = options->nfs.n > 0 ? (unsigned int)options->hold : 0;

	// Each egress of the buffered policy may hold a burst.
	return port_specs_mbufs(config->specs, options->ports.n) + n_held +
	       options->ports.n * BURST_MAX + POOL_SPARE;
}

// What network functions read from files is read before EAL starts: a mistake in it is told at
// once, and EAL asked for as much memory as their tables take.
static int read_tables(const struct options *options, unsigned int *mb, struct error *error)
{
	const struct nf_env env = {
		.n_ports = (uint16_t)options->ports.n, .hold_max = (uint32_t)options->hold};
	uint64_t bytes;
	int err = pipeline_memory(options->nfs.items, options->nfs.n, &env, &bytes, error);

	*mb = err == 0 ? (unsigned int)((bytes + (1 << 20) - 1) >> 20) : 0;
	return err;
}

static int start_eal(
	struct forwarder *forwarder, unsigned int tables_mb, char *program, struct error *error)
{
	struct config *config = &forwarder->config;
	const struct eal_config eal = {
		.program = program,
		.core = config->options.core,
		.memory_mb = pool_memory_mb(pool_size(config)),
		.tables_mb = tables_mb,
		.ports = config->specs,
		.n_ports = config->options.ports.n,
		.burst = config->burst,
		.extra = config->eal_options,
		.n_extra = config->n_eal_options,
	};

	return eal_start(&eal, &forwarder->eal, error);
}

// The nominal rate serves the gap threshold and the delay; times in files use the fitted one.
static uint64_t estimate_tsc_hz(void)
{
	struct clock_point points[CLOCK_POINTS];
	struct clock_fit fit;

	clock_points_take(points, CLOCK_POINTS, CLOCK_POINTS_SPREAD_NS);
	return clock_fit(points, CLOCK_POINTS, &fit) == 0 ? (uint64_t)(fit.tsc_hz + 0.5) : 0;
}

static int open_ports(struct forwarder *forwarder, struct error *error)
{
	struct worker *worker = forwarder->worker;
	const struct config *config = &forwarder->config;

	forwarder->pool = pool_create("forward", pool_size(config));
	if (forwarder->pool == NULL) {
		error_set(error, "memory for %u packets: %s; lower --hold", pool_size(config),
			rte_strerror(rte_errno));
		return -ENOMEM;
	}
	for (size_t i = 0; i < config->options.ports.n; i++) {
		int err = port_open(&config->specs[i], forwarder->pool, &worker->ports[i], error);
		if (err < 0)
			return err;
		worker->egress[i].port = worker->ports[i];
		worker->n_ports++;
	}
	return 0;
}

static const uint64_t look_ns = 10000000; // how long a signal waits to be seen

// Whoever is told that this is ready may send at once. Other ports are ready for a peer that comes
// later.
static void wait_for_servers(struct worker *worker)
{
	for (uint16_t i = 0; i < worker->n_ports; i++)
		while (port_needs_peer(worker->ports[i]) && program_n_signals == 0 &&
			port_wait_link(worker->ports[i], look_ns, NULL) < 0)
			continue;
}

// Of a worker that sleeps: its ports wake this thread.
static int listen_to_ports(struct worker *worker, bool late, struct error *error)
{
	int err = 0;

	for (uint16_t i = 0; i < worker->n_ports && err == 0; i++)
		if (port_listens_late(worker->ports[i]) == late)
			err = port_listen(worker->ports[i], error);
	return err;
}

static bool is_over(const struct worker *worker)
{
	return program_n_signals > 0 || clock_tsc() >= worker->end_tsc;
}

// Those that can only when their peers are there, which may come because it is ready.
static int listen_to_late_ports(struct worker *worker, struct error *error)
{
	for (uint16_t i = 0; i < worker->n_ports; i++)
		while (port_listens_late(worker->ports[i]) && !is_over(worker) &&
			port_wait_link(worker->ports[i], look_ns, NULL) < 0)
			continue;
	return is_over(worker) ? 0 : listen_to_ports(worker, true, error);
}

static struct record_file_header file_header(const struct forwarder *forwarder)
{
	return (struct record_file_header){
		.epoch_tsc = forwarder->first.tsc,
		.nominal_tsc_hz = forwarder->tsc_hz,
		.first = forwarder->first,
		.thread = "forwarder",
	};
}

// Without --gaps they are only counted.
static int create_gap_log(struct forwarder *forwarder, struct error *error)
{
	const struct config *config = &forwarder->config;

	clock_point_take(&forwarder->first);
	const struct gap_log_config gaps = {
		.threshold_ticks = clock_ticks(config->gap_threshold_ns, forwarder->tsc_hz),
		.per_packet_ticks = clock_ticks(config->gap_per_packet_ns, forwarder->tsc_hz),
		.thread = GAP_FORWARDER,
		.path = *config->options.gaps != '\0' ? config->options.gaps : NULL,
		.header = file_header(forwarder),
		.core = config->writer_core,
		.most = config->options.gaps_most,
	};
	int err = gap_log_create(&forwarder->worker->gaps, &gaps);
	if (err < 0)
		error_set(error, "--gaps %s: %s; name a file on a disk with room",
			config->options.gaps, strerror(-err));
	return err;
}

// Without --stamps it is off, and the worker's ports have none.
static int create_stamp_log(struct forwarder *forwarder, struct error *error)
{
	const struct config *config = &forwarder->config;
	struct worker *worker = forwarder->worker;
	const struct stamp_log_config stamps = {
		.path = *config->options.stamps != '\0' ? config->options.stamps : NULL,
		.every = config->options.stamp_every,
		.header = file_header(forwarder),
		.core = config->writer_core,
	};
	int err = stamp_log_create(&worker->stamps, &stamps);
	if (err < 0) {
		error_set(error, "--stamps %s: %s; name a file on a disk with room",
			config->options.stamps, strerror(-err));
		return err;
	}
	for (uint16_t i = 0; i < worker->n_ports && stamp_log_is_on(&worker->stamps); i++) {
		worker->egress[i].stamps = &worker->stamps;
		worker->stamps.arrivals[i].may_leave = port_may_leave(worker->ports[i]);
	}
	return 0;
}

static int prepare_worker(struct forwarder *forwarder, struct error *error)
{
	const struct options *options = &forwarder->config.options;
	struct worker *worker = forwarder->worker;
	const struct nf_env env = {
		.tsc_hz = forwarder->tsc_hz,
		.n_ports = worker->n_ports,
		.hold_max = options->hold,
	};

	worker->stop = &program_n_signals;
	worker->wait = forwarder->config.wait;
	int err = transmit_init(&worker->transmit, options->transmit, worker->egress,
		worker->n_ports, forwarder->tsc_hz, error);
	if (err == 0)
		err = pipeline_init(
			&worker->pipeline, options->nfs.items, options->nfs.n, &env, error);
	if (err < 0)
		return err;
	if (worker->wait.sleeps)
		err = listen_to_ports(worker, false, error);
	if (err < 0)
		return err;
	worker->burst = forwarder->config.burst;
	err = create_gap_log(forwarder, error);
	return err == 0 ? create_stamp_log(forwarder, error) : err;
}

// The logs' ends and the counters, after the run. Returns 0 or -errno with one line in error.
static int write_results(struct forwarder *forwarder, uint64_t ticks, struct error *error)
{
	const struct config *config = &forwarder->config;
	struct worker *worker = forwarder->worker;
	struct clock_point last;

	clock_point_take(&last);
	int err = gap_log_close(&worker->gaps, forwarder->first.tsc, &last);
	if (err < 0)
		error_set(error, "--gaps %s: %s", config->options.gaps, strerror(-err));
	int stamps_err = stamp_log_close(&worker->stamps, forwarder->first.tsc, &last);
	if (err == 0 && stamps_err < 0) {
		err = stamps_err;
		error_set(error, "--stamps %s: %s", config->options.stamps, strerror(-err));
	}
	if (*config->options.stats == '\0')
		return err;
	// Also then: they say how many gaps and stamps are missing.
	int stats_err = stats_write(config, worker, &forwarder->eal, forwarder->tsc_hz, ticks,
		program_n_signals > 0 ? "signal" : "duration");
	if (err == 0 && stats_err < 0) {
		err = stats_err;
		error_set(error, "--stats %s: %s", config->options.stats, strerror(-err));
	}
	return err;
}

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void run_worker(struct worker *worker, uint64_t tsc_hz)
{
	uint64_t before_ns = cpu_ns();

	wait_init(&worker->wait, tsc_hz);
	poll_grace_enter(&worker->n_iterations);
	if (worker->wait.sleeps)
		worker_run_sleeping(worker);
	else
		worker_run(worker);
	poll_grace_leave();
	worker->cpu_ns = cpu_ns() - before_ns;
}

static int run(struct forwarder *forwarder, struct error *error)
{
	struct worker *worker = forwarder->worker;
	uint64_t duration_ns = forwarder->config.options.duration_ns;

	wait_for_servers(worker);
	uint64_t started_tsc = clock_tsc();
	worker->end_tsc = duration_ns == 0
				  ? UINT64_MAX
				  : started_tsc + clock_ticks(duration_ns, forwarder->tsc_hz);
	printf("taut-forward: ready\n");
	fflush(stdout);
	if (worker->wait.sleeps) {
		int err = listen_to_late_ports(worker, error);
		if (err < 0)
			return err;
	}
	run_worker(worker, forwarder->tsc_hz);
	uint64_t ticks = clock_tsc() - started_tsc;
	transmit_fini(&worker->transmit);
	return write_results(forwarder, ticks, error);
}

static void close_all(struct forwarder *forwarder)
{
	struct worker *worker = forwarder->worker;

	if (worker != NULL) {
		pipeline_fini(&worker->pipeline);
		for (uint16_t i = 0; i < worker->n_ports; i++)
			port_leave(worker->ports[i]);
		gap_log_destroy(&worker->gaps);
		stamp_log_destroy(&worker->stamps);
	}
	// Its memory, the pool's too, goes with the process: a port that is left may still use it.
	eal_stop(&forwarder->eal);
}

int main(int argc, char **argv)
{
	static struct forwarder forwarder;
	struct error error = {0};
	unsigned int tables_mb = 0;

	program_start("taut-forward", LOG_LEVEL_INFO);
	int err = config_parse(&forwarder.config, argc, argv, &error);
	if (err == COMMAND_LINE_DONE)
		return program_flush();
	if (err == 0)
		err = read_tables(&forwarder.config.options, &tables_mb, &error);
	if (err < 0)
		return program_refuse(&error);
	if (forwarder.config.options.check)
		return program_flush();
	if (forwarder.config.options.memory) {
		printf("%u\n", pool_memory_mb(pool_size(&forwarder.config)) + tables_mb);
		return program_flush();
	}
	err = start_eal(&forwarder, tables_mb, argv[0], &error);
	if (err < 0) {
		LOG(ERROR, "%s", error.text);
		return err == -EINVAL ? EXIT_BAD_INPUT : EXIT_FAILED; // EAL options of the user's
	}
	program_catch_signals();
	// After EAL: on its memory, hence on huge pages.
	forwarder.worker = rte_zmalloc("worker", sizeof(struct worker), RTE_CACHE_LINE_SIZE);
	forwarder.tsc_hz = estimate_tsc_hz();
	int status = EXIT_BAD_INPUT;
	err = forwarder.worker != NULL ? open_ports(&forwarder, &error) : -ENOMEM;
	if (err == 0)
		err = prepare_worker(&forwarder, &error);
	if (err == 0) {
		status = EXIT_FAILED;
		err = run(&forwarder, &error);
	}
	// A driver that waits for its peer says something else of a signal.
	if (err == 0 || (status == EXIT_BAD_INPUT && program_n_signals > 0))
		status = EXIT_DONE;
	else
		LOG(ERROR, "%s",
			forwarder.worker != NULL ? error.text : "no memory for the worker");
	close_all(&forwarder);
	return status;
}
