#include "generator.h"

#include "live.h"
#include "log.h"
#include "poll_grace.h"
#include "pool.h"
#include "result_files.h"

#include <rte_errno.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

enum {
	CLOCK_SPREAD_NS = 100000000, // 50 ns a point over 0.1 s: the rate is right to 1e-6
	FULL_RINGS_KNOWN = 1 << 13, // of 1024 places: more than are ever in flight, both ways
	LEAST_PACKET_NS = 6, // 64-byte frames at 100 Gbit/s
	START_DELAY_NS = 1000000, // from setting the epoch to time 0
	MAX_BEHIND_NS = 1000000000, // how long the end of a run waits for a sender that is behind
	NEAR_FLOOR_NS = 60,
	NS_PER_MS = 1000000,
	SPARE_MBUFS = 2048, // built ahead, received, in the pool's cache
};

void generator_path(const struct generator *generator, const char *name, char *path, size_t len)
{
	snprintf(path, len, "%s/%s", generator->config->options.out, name);
}

static int open_ports(struct generator *g, struct error *error)
{
	const struct config *config = g->config;
	unsigned int n_mbufs = SPARE_MBUFS + 2 * port_specs_mbufs(config->ports, config->n_ports);
	struct eal_config eal = {
		.program = config->argv[0],
		.core = config->options.core,
		.memory_mb = pool_memory_mb(n_mbufs),
		.ports = config->ports,
		.n_ports = config->n_ports,
		.extra = config->argv + config->n_used,
		.n_extra = config->argc - config->n_used,
	};
	int err = eal_start(&eal, &g->eal, error);

	if (err < 0)
		return err;
	g->eal_is_up = true;
	g->pool = pool_create("generator", n_mbufs);
	if (g->pool == NULL) {
		error_set(error, "memory: %u packet buffers: %s; free some, or -- -m MB", n_mbufs,
			rte_strerror(rte_errno));
		return -rte_errno;
	}
	for (size_t i = 0; i < config->n_ports; i++) {
		err = port_open(&config->ports[i], g->pool, &g->ports[i], error);
		if (err < 0)
			return err;
	}
	if (config->n_ports == 1)
		g->ports[1] = g->ports[0];
	return 0;
}

static int wait_links(struct generator *g, struct error *error)
{
	for (size_t i = 0; i < g->config->n_ports; i++) {
		int err = port_wait_link(
			g->ports[i], g->config->options.link_timeout_ns, g->loop.n_signals);
		if (err == -ETIMEDOUT)
			error_set(error,
				"%s: no link; is the device under test running? (--link-timeout)",
				g->config->ports[i].text);
		if (err < 0)
			return err;
	}
	return 0;
}

static struct record_file_header file_header(const struct generator *g)
{
	struct record_file_header header = {
		.run_id = g->config->run_id,
		.n_flows = (uint32_t)g->config->options.flows,
		.epoch_tsc = g->epoch_tsc,
		.nominal_tsc_hz = g->tsc_hz,
		.first = g->points[0],
		.thread = "generator",
	};

	return header;
}

static void say_no_file(const char *path, int err, struct error *error)
{
	error_set(error, "%s: %s; give --out a folder on a disk with room", path, strerror(-err));
}

// Of both files that are written during the run.
static int writer_core(const struct generator *g)
{
	const struct options *options = &g->config->options;

	return options->writer_core >= 0 ? options->writer_core : g->eal.core;
}

static int open_gaps(struct generator *g, struct error *error)
{
	char path[PATH_MAX];
	const struct gap_log_config config = {
		.threshold_ticks = clock_ticks(g->config->gap_threshold_ns, g->tsc_hz),
		.per_packet_ticks = clock_ticks(g->config->gap_per_packet_ns, g->tsc_hz),
		.thread = GAP_GENERATOR,
		.path = path,
		.header = file_header(g),
		.core = writer_core(g),
		.most = g->config->options.record_most,
	};

	generator_path(g, "gaps.bin", path, sizeof(path));
	int err = gap_watch_create(&g->loop.gaps, &config, FULL_RINGS_KNOWN);
	if (err < 0)
		say_no_file(path, err, error);
	g->loop.gaps.keeps = g->config->ring_keeps;
	return err;
}

static int open_writer(struct generator *g, struct error *error)
{
	const struct options *options = &g->config->options;
	char path[PATH_MAX];
	struct record_writer_config config = {
		.path = path,
		.kind = RECORD_PACKET,
		.header = file_header(g),
		.ring_bytes = options->ring_mib << 20,
		.most = options->record_most,
		.within_ms = (uint32_t)((options->record_within_ns + NS_PER_MS - 1) / NS_PER_MS),
		// Whatever the mode: of a device that stops answering each packet is recorded.
		.expected_per_second = traffic_rate_pps(&g->config->rate) * g->n_directions,
		.core = writer_core(g),
	};

	generator_path(g, "packets.bin", path, sizeof(path));
	if (options->record == RECORD_MODE_NONE)
		return 0;
	int err = record_writer_create(&config, &g->loop.writer);
	if (err < 0)
		say_no_file(path, err, error);
	return err;
}

static int open_measurements(struct generator *g, struct error *error)
{
	const struct options *options = &g->config->options;
	struct measurement_config config = {
		.n_flows = (uint32_t)options->flows,
		.in_flight = in_flight_size(traffic_rate_pps(&g->config->rate), g->config->at_once,
			options->deadline_ns),
		.has_warm_up = options->warm_up_ns > 0,
		.quantum_ticks = clock_ticks(g->config->quantum_ns, g->tsc_hz),
		.deadline_ticks = clock_ticks(options->deadline_ns, g->tsc_hz),
		.mode = (enum record_mode)options->record,
		.tail_one_in = options->tail_one_in,
		.tail_is_slow_only = options->record_void == RECORD_VOID_SLOW,
		.writer = g->loop.writer,
		.gaps = &g->loop.gaps,
		.device_holds = options->device_holds,
	};
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < g->n_directions; i++) {
		config.direction = (uint8_t)i;
		config.histograms[0] = live_histograms(g->live, i, false);
		config.histograms[1] = live_histograms(g->live, i, true);
		err = measurement_init(&g->measurements[i], &config);
		// Each direction draws its own numbers from the one seed.
		if (err == 0)
			err = traffic_create(options->schedule, &g->config->rate, &g->config->mix,
				config.n_flows, options->seed + i, &g->traffic[i], error);
	}
	if (err < 0)
		error_set(error, "memory: counters and histograms: %s", strerror(-err));
	return err;
}

static void init_loop(struct generator *g)
{
	const struct config *config = g->config;
	struct loop *loop = &g->loop;
	uint32_t least_ring = UINT32_MAX;

	loop->n_senders = g->n_directions;
	loop->n_receivers = config->n_ports == 1 ? 1 : g->n_directions;
	for (uint32_t i = 0; i < g->n_directions; i++) {
		sender_init(&loop->senders[i],
			&(struct sender_config){
				.port = g->ports[i],
				.pool = g->pool,
				.traffic = g->traffic[i],
				.measurement = &g->measurements[i],
				.gaps = &loop->gaps,
				.direction = (uint8_t)i,
				.run_id = config->run_id,
				.n_destinations = (uint32_t)config->options.destinations,
				.tsc_hz = g->tsc_hz,
				.quantum_ticks = clock_ticks(config->quantum_ns, g->tsc_hz),
				.warm_up_ns = config->options.warm_up_ns,
				.duration_ns = config->duration_ns,
				.count = config->count,
			});
	}
	for (uint32_t i = 0; i < loop->n_receivers; i++) {
		struct receiver *receiver = &loop->receivers[i];
		bool is_shared = config->n_ports == 1 && g->n_directions == 2;
		*receiver = (struct receiver){
			.port = g->ports[1 - i],
			.gaps = &loop->gaps,
			.of = {&g->measurements[is_shared ? 0 : i],
				&g->measurements[is_shared ? 1 : i]},
			.is_expected = {is_shared || i == 0, is_shared || i == 1},
			.run_id = config->run_id,
			.arrivals.may_leave = port_may_leave(g->ports[1 - i]),
			.waiting = none_waiting,
		};
		least_ring = RTE_MIN(least_ring, receiver->port->ring_size);
	}
	gap_watch_set_ring(
		&loop->gaps, least_ring, RECEIVER_BURST, clock_ticks(LEAST_PACKET_NS, g->tsc_hz));
}

// Half of the points were taken before the ports were opened. That mostly takes longer than the
// rate needs points to lie apart, EAL's own look at the clock alone 0.1 s; else the others make up
// for it.
static int measure_clock(struct generator *g, struct error *error)
{
	struct clock_point now;
	struct clock_fit fit;

	clock_point_take(&now);
	uint64_t passed_ns = now.mono_raw_ns - g->points[0].mono_raw_ns;
	clock_points_take(g->points + CLOCK_POINTS / 2, CLOCK_POINTS / 2,
		passed_ns < CLOCK_SPREAD_NS ? CLOCK_SPREAD_NS - passed_ns : 0);
	if (clock_fit(g->points, CLOCK_POINTS, &fit) < 0) {
		error_set(error, "clock: the TSC does not advance; use another machine");
		return -EINVAL;
	}
	g->tsc_hz = (uint64_t)(fit.tsc_hz + 0.5);
	return 0;
}

int generator_open(struct generator *g, const struct config *config, struct live *live,
	volatile const int *n_signals, struct error *error)
{
	g->config = config;
	g->live = live;
	g->n_directions = config->options.both ? 2 : 1;
	g->loop.n_signals = n_signals;
	clock_points_take(g->points, CLOCK_POINTS / 2, 0);
	int err = open_ports(g, error);
	if (err == 0)
		err = measure_clock(g, error);
	if (err == 0)
		err = wait_links(g, error);
	if (err == 0)
		err = open_gaps(g, error);
	if (err == 0)
		err = open_writer(g, error);
	if (err == 0)
		err = open_measurements(g, error);
	if (err == 0)
		err = live_publish(g->live, g, error);
	if (err == 0)
		init_loop(g);
	return err;
}

static uint64_t schedule_end_ticks(const struct generator *g)
{
	const struct config *config = g->config;

	if (config->duration_ns == UINT64_MAX)
		return UINT64_MAX / 2;
	return clock_ticks(
		config->options.warm_up_ns + config->duration_ns + MAX_BEHIND_NS, g->tsc_hz);
}

static void start(struct generator *g)
{
	struct loop *loop = &g->loop;
	uint64_t poll_ticks = loop_measure_poll(loop);
	uint64_t floor_ticks = clock_ticks(NEAR_FLOOR_NS, g->tsc_hz);

	loop->near_ticks = poll_ticks > floor_ticks ? poll_ticks * 5 / 4 : floor_ticks;
	// The link came up after the epoch of whoever sent before; count from here.
	for (uint32_t i = 0; i < g->n_directions; i++)
		measurement_begin(&g->measurements[i]);

	g->epoch_tsc = clock_tsc() + clock_ticks(START_DELAY_NS, g->tsc_hz);
	loop->timeout_tsc = g->epoch_tsc + schedule_end_ticks(g);
	for (uint32_t i = 0; i < loop->n_receivers; i++)
		loop->receivers[i].epoch_tsc = g->epoch_tsc;
	for (uint32_t i = 0; i < loop->n_senders; i++)
		sender_start(&loop->senders[i], g->epoch_tsc);
	live_started(g->live, g->epoch_tsc);
}

static void finish(struct generator *g, uint64_t end_tsc)
{
	for (uint32_t i = 0; g->stop == LOOP_TIMEOUT && i < g->loop.n_senders; i++)
		g->was_interrupted |= !sender_count_abandoned(
			&g->loop.senders[i], g->loop.n_signals, g->loop.n_signals_allowed);
	for (uint32_t i = 0; i < g->n_directions; i++)
		measurement_finish(&g->measurements[i], end_tsc);
	live_ended(g->live, clock_tsc());
	clock_points_take(g->points + CLOCK_POINTS, CLOCK_POINTS, CLOCK_POINTS_SPREAD_NS);
}

static void keep_error(struct generator *g, const char *name, int err)
{
	if (err == 0 || g->write_error != 0)
		return;
	g->write_error = err;
	generator_path(g, name, g->write_error_path, sizeof(g->write_error_path));
}

static void write_files(struct generator *g)
{
	const struct clock_point *last = &g->points[2 * CLOCK_POINTS - 1];
	const struct record_file_header header = file_header(g);
	char path[PATH_MAX];

	if (g->loop.writer != NULL) {
		g->n_records_beyond = g->loop.writer->n_beyond;
		g->n_stalls = record_writer_stalls(g->loop.writer);
		record_writer_set_epoch(g->loop.writer, g->epoch_tsc);
		int err = record_writer_close(
			g->loop.writer, last, &g->n_records, &g->n_records_lost);
		keep_error(g, "packets.bin", err);
		g->loop.writer = NULL;
	}
	keep_error(g, "gaps.bin", gap_log_close(&g->loop.gaps.log, g->epoch_tsc, last));
	generator_path(g, "histograms.bin", path, sizeof(path));
	keep_error(g, "histograms.bin",
		histograms_write(g->measurements, g->n_directions, path, &header, last));
}

static void take_use(const struct generator *g, struct use *use)
{
	const struct options *asked = &g->config->options;

	use->now_tsc = clock_tsc();
	if (asked->device_core >= 0)
		device_use_take(&use->device, (pid_t)asked->device_pid, asked->device_core, NULL);
	energy_take(&use->energy, NULL);
	for (uint32_t i = 0; i < g->loop.n_receivers; i++)
		port_drops(g->loop.receivers[i].port, &use->drops[i]);
}

void generator_run(struct generator *g)
{
	struct loop *loop = &g->loop;
	uint64_t deadline_ticks = clock_ticks(g->config->options.deadline_ns, g->tsc_hz);

	take_use(g, &g->before);
	start(g);
	poll_grace_enter(&loop->n_iterations);
	g->stop = loop_send(loop);
	g->send_end_tsc = clock_tsc();
	for (uint32_t i = 0; i < loop->n_senders; i++)
		sender_stop(&loop->senders[i]);
	// A second signal ends the drain, too.
	loop->n_signals_allowed = *loop->n_signals > 0 ? 1 : 0;
	loop->timeout_tsc = g->send_end_tsc + deadline_ticks;
	enum loop_stop drained = loop_drain(loop);
	g->was_interrupted = g->stop == LOOP_SIGNAL || drained == LOOP_SIGNAL;
	uint64_t end_tsc = clock_tsc();
	poll_grace_leave();
	take_use(g, &g->after);
	finish(g, end_tsc);
	write_files(g);
}

void generator_close(struct generator *g)
{
	static const struct clock_point never;

	record_writer_close(g->loop.writer, &never, NULL, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		measurement_fini(&g->measurements[i]);
		traffic_destroy(g->traffic[i]);
	}
	gap_watch_destroy(&g->loop.gaps);
	// The pool goes with the process: a port that is left may still use it.
	if (g->ports[1] != g->ports[0])
		port_leave(g->ports[1]);
	port_leave(g->ports[0]);
	if (g->eal_is_up)
		eal_stop(&g->eal);
}
