#include "stats.h"

#include "clock.h"
#include "json_file.h"
#include "nf_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void print_ports(struct json *json, const struct config *config, const struct worker *worker)
{
	json_array(json, "ports");
	for (uint16_t i = 0; i < worker->n_ports; i++) {
		json_object(json, NULL);
		json_text(json, "spec", config->specs[i].text);
		json_u64(json, "rx", worker->n_rx[i]);
		json_u64(json, "tx", worker->egress[i].n_tx);
		json_u64(json, "tx_refused", worker->egress[i].n_refused);
		json_end(json);
	}
	json_end(json);
}

static void print_nfs(struct json *json, const struct config *config, const struct worker *worker)
{
	json_array(json, "nf");
	for (size_t i = 0; i < config->options.nfs.n; i++)
		json_text(json, NULL, config->options.nfs.items[i]);
	json_end(json);
	json_array(json, "nfs");
	for (uint16_t i = 0; i < worker->pipeline.n_stages; i++) {
		const struct pipeline_stage *stage = &worker->pipeline.stages[i];
		// What a holding function took and never gave back was dropped, or is held still.
		json_object(json, NULL);
		json_text(json, "name", stage->ops->name);
		json_u64(json, "in", stage->n_in);
		json_u64(json, "dropped", stage->n_dropped + pipeline_overflown(stage));
		json_u64(json, "held", pipeline_holds(stage));
		nf_report(stage->ops, stage->state, json);
		json_end(json);
	}
	json_end(json);
}

// As it was understood, defaults included; null: the policy holds nothing back.
static void print_holds(struct json *json, const struct transmit *transmit)
{
	if (transmit->hold_max == 0) {
		json_null(json, "holds");
		return;
	}
	json_object(json, "holds");
	json_u64(json, "packets", transmit->hold_max);
	if (transmit->drain_ns > 0)
		json_u64(json, "drain_ns", transmit->drain_ns);
	else
		json_null(json, "drain_ns");
	json_end(json);
}

// Nothing where nothing is stamped.
static void print_stamps(
	struct json *json, const struct config *config, const struct stamp_log *stamps)
{
	if (*config->options.stamps == '\0')
		return;
	json_object(json, "stamps");
	json_u64(json, "every", config->options.stamp_every);
	json_u64(json, "n", stamps->n);
	json_u64(json, "not_kept", stamps->not_kept);
	json_end(json);
}

// Time asleep is no gap; what the worker took of its core beside it, cpu_ns.
static void print_wait(struct json *json, const struct wait *wait, uint64_t tsc_hz)
{
	json_object(json, "sleep");
	json_u64(json, "n", wait->n_sleeps);
	json_u64(json, "total_ns", clock_ns(wait->slept_ticks, tsc_hz));
	json_u64(json, "spin_ns", clock_ns(wait->spin_ticks, tsc_hz));
	json_end(json);
}

struct stats {
	const struct config *config;
	const struct worker *worker;
	const struct eal *eal;
	uint64_t tsc_hz, duration_ticks;
	const char *stop;
};

static void print(struct json *json, const void *context)
{
	const struct stats *stats = context;
	const struct config *config = stats->config;
	const struct worker *worker = stats->worker;

	json_object(json, NULL);
	json_u64(json, "format", 1);
	json_text(json, "version", TAUT_VERSION);
	json_i64(json, "core", stats->eal->core);
	json_object(json, "understood");
	option_values(json, forwarder_options, n_forwarder_options, &config->options);
	json_end(json);
	json_text(json, "transmit", config->options.transmit);
	print_holds(json, &worker->transmit);
	json_u64(json, "burst", worker->burst);
	json_u64(json, "duration_ns", clock_ns(stats->duration_ticks, stats->tsc_hz));
	json_u64(json, "iterations", worker->n_iterations);
	json_u64(json, "min_loop_ns",
		clock_ns(worker->n_iterations > 0 ? worker->min_loop_ticks : 0, stats->tsc_hz));
	print_ports(json, config, worker);
	print_nfs(json, config, worker);
	json_object(json, "gaps");
	gap_log_print(&worker->gaps, json, config->gap_threshold_ns, config->gap_per_packet_ns,
		stats->tsc_hz);
	json_end(json);
	print_stamps(json, config, &worker->stamps);
	if (worker->wait.sleeps)
		print_wait(json, &worker->wait, stats->tsc_hz);
	json_u64(json, "cpu_ns", worker->cpu_ns);
	json_u64(json, "unforwarded", worker->n_unforwarded);
	json_text(json, "memory", eal_memory(stats->eal));
	json_text(json, "stop", stats->stop);
	json_end(json);
}

int stats_write(const struct config *config, const struct worker *worker, const struct eal *eal,
	uint64_t tsc_hz, uint64_t duration_ticks, const char *stop)
{
	const struct stats stats = {config, worker, eal, tsc_hz, duration_ticks, stop};

	if (strcmp(config->options.stats, "-") != 0)
		return json_file_write(config->options.stats, print, &stats);
	int err = json_file_print(stdout, print, &stats);
	return fflush(stdout) != 0 ? -errno : err;
}
