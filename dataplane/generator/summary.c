// generator.json: what was asked, what was done, what was counted.

#include "generator.h"
#include "json_file.h"
#include "result_files.h"

#include <errno.h>
#include <math.h>

// Whether all packets that were asked for were due, before the time was over.
static bool is_count_complete(const struct generator *g)
{
	for (uint32_t i = 0; i < g->n_directions; i++)
		if (g->loop.senders[i].n_left > 0)
			return false;
	return true;
}

static const char *stop_text(const struct generator *g)
{
	if (g->write_error == -ENOSPC || g->write_error == -EFBIG || g->write_error == -EDQUOT)
		return "disk-full";
	if (g->write_error != 0)
		return "write-error";
	if (g->was_interrupted)
		return "signal";
	return is_count_complete(g) ? "count" : "duration";
}

static void print_clock_point(struct json *json, const char *name, const struct clock_point *point)
{
	json_object(json, name);
	json_u64(json, "tsc", point->tsc);
	json_u64(json, "mono_raw_ns", point->mono_raw_ns);
	json_u64(json, "width_ticks", point->width_ticks);
	json_end(json);
}

static void print_clock(struct json *json, const struct generator *g)
{
	struct clock_fit fit = {.tsc_hz = (double)g->tsc_hz};

	(void)clock_line(g->points, 2 * CLOCK_POINTS, &fit);
	json_object(json, "clock");
	json_u64(json, "nominal_tsc_hz", g->tsc_hz);
	json_fixed(json, "tsc_hz", fit.tsc_hz, 3);
	json_fixed(json, "residual_ns", fit.residual_ns, 1);
	print_clock_point(json, "first", &g->points[0]);
	print_clock_point(json, "last", &g->points[2 * CLOCK_POINTS - 1]);
	json_end(json);
}

static void print_understood(struct json *json, const struct config *config)
{
	json_object(json, "understood");
	option_values(json, generator_options, n_generator_options, &config->options);
	json_end(json);
}

// From the epoch to the end of the schedule, or to where it was cut off.
static uint64_t duration_ns(const struct generator *g)
{
	const struct config *config = g->config;
	uint64_t end_ns = 0;

	if (g->stop == LOOP_SIGNAL || g->stop == LOOP_WRITE_ERROR)
		// A signal may come before the first departure, and so before the epoch.
		return g->send_end_tsc > g->epoch_tsc
			       ? clock_ns(g->send_end_tsc - g->epoch_tsc, g->tsc_hz)
			       : 0;
	if (!is_count_complete(g))
		return config->options.warm_up_ns + config->duration_ns;
	for (uint32_t i = 0; i < g->n_directions; i++)
		if (g->loop.senders[i].built_ns > end_ns)
			end_ns = g->loop.senders[i].built_ns;
	return end_ns;
}

static double pps_of_each(const struct generator *g, uint64_t n_packets, uint64_t ns)
{
	return ns > 0 ? (double)n_packets * 1e9 / (double)ns / g->n_directions : 0;
}

static void print_rates(struct json *json, const struct generator *g, const struct counters *sum)
{
	uint64_t schedule_ns = duration_ns(g);
	uint64_t sending_ns = schedule_ns;

	// A sender that was behind at the end took longer than its schedule.
	for (uint32_t i = 0; i < g->n_directions; i++) {
		uint64_t last_tsc = g->measurements[i].last_sent_tsc;
		if (last_tsc <= g->epoch_tsc)
			continue;
		uint64_t last_ns = clock_ns(last_tsc - g->epoch_tsc, g->tsc_hz);
		if (last_ns > sending_ns + g->config->quantum_ns)
			sending_ns = last_ns;
	}
	json_fixed(json, "rate_pps", traffic_rate_pps(&g->config->rate), 6);
	json_fixed(json, "offered_pps", pps_of_each(g, sum->due, schedule_ns), 6);
	json_fixed(json, "achieved_pps", pps_of_each(g, sum->sent, sending_ns), 6);
	json_u64(json, "duration_ns", schedule_ns);
	json_u64(json, "warm_up_ns", g->config->options.warm_up_ns);
	json_text(json, "stop", stop_text(g));
}

static void print_frames(struct json *json, const struct frame_mix *mix)
{
	uint16_t before = 0;

	json_array(json, "frames");
	// Smallest first; the shuffle of the run has left the pattern in any order.
	while (true) {
		uint16_t len = UINT16_MAX;
		uint32_t n = 0;
		for (uint32_t i = 0; i < mix->n; i++)
			if (mix->pattern[i] > before && mix->pattern[i] < len)
				len = mix->pattern[i];
		for (uint32_t i = 0; i < mix->n; i++)
			n += mix->pattern[i] == len;
		if (n == 0)
			break;
		json_object(json, NULL);
		json_u64(json, "len", len);
		json_double(json, "share", (double)n / mix->n, 9);
		json_end(json);
		before = len;
	}
	json_end(json);
}

static void print_counters(struct json *json, const char *name, const struct counters *counters)
{
	json_object(json, name);
	for (size_t i = 0; i < n_counter_names; i++)
		json_u64(json, counter_names[i].name, counters_get(counters, i));
	json_end(json);
}

static void print_gaps(struct json *json, const struct generator *g)
{
	json_object(json, "gaps");
	gap_log_print(&g->loop.gaps.log, json, g->config->gap_threshold_ns,
		g->config->gap_per_packet_ns, g->tsc_hz);
	json_u64(json, "longest_granted_ns",
		clock_ns(g->loop.gaps.longest_granted_ticks, g->tsc_hz));
	json_u64(json, "full_ring_packets", g->loop.gaps.n_full);
	json_u64(json, "full_ring_ns", clock_ns(g->loop.gaps.filling_ticks, g->tsc_hz));
	json_end(json);
}

static void print_loop(struct json *json, const struct generator *g)
{
	const struct loop *loop = &g->loop;

	json_object(json, "loop");
	json_u64(json, "iterations", loop->n_iterations);
	json_u64(json, "min_ns", loop->n_iterations > 0 ? clock_ns(loop->min_ticks, g->tsc_hz) : 0);
	json_u64(json, "near_ns", clock_ns(loop->near_ticks, g->tsc_hz));
	json_u64(json, "quantum_ns", g->config->quantum_ns);
	json_end(json);
}

static void print_records(struct json *json, const struct generator *g)
{
	json_object(json, "records");
	json_text(json, "mode", record_modes[g->config->options.record]);
	json_u64(json, "n", g->n_records);
	json_u64(json, "bytes", g->n_records * sizeof(struct packet_record));
	json_u64(json, "lost", g->n_records_lost);
	json_u64(json, "beyond", g->n_records_beyond);
	json_u64(json, "stalls", g->n_stalls);
	json_u64(json, "tail_threshold_ns",
		clock_ns(g->measurements[0].tail.ticks_q16 >> 16, g->tsc_hz));
	json_end(json);
}

static void print_known(struct json *json, const char *name, bool is_known, uint64_t value)
{
	if (is_known)
		json_u64(json, name, value);
	else
		json_null(json, name);
}

static uint64_t use_elapsed_ns(const struct generator *g)
{
	return clock_ns(g->after.now_tsc - g->before.now_tsc, g->tsc_hz);
}

static void print_device_use(struct json *json, const struct generator *g)
{
	struct device_use used = device_use_between(&g->before.device, &g->after.device);
	uint64_t elapsed_ns = use_elapsed_ns(g);

	if (g->config->options.device_core < 0)
		return;
	json_object(json, "device_use");
	json_u64(json, "elapsed_ns", elapsed_ns);
	print_known(json, "process_ns", used.has_process, used.process_ns);
	print_known(json, "idle_poll_ns", used.has_core, used.idle_poll_ns);
	// A sleep that began before is counted when it is over.
	print_known(json, "awake_ns", used.has_core,
		used.asleep_ns < elapsed_ns ? elapsed_ns - used.asleep_ns : 0);
	json_end(json);
}

// Of the whole machine: a floor without a device has it, too.
static void print_energy(struct json *json, const struct generator *g)
{
	uint64_t elapsed_ns = use_elapsed_ns(g);
	struct energy used;

	energy_between(&g->before.energy, &g->after.energy, elapsed_ns, &used);
	json_object(json, "energy");
	json_u64(json, "elapsed_ns", elapsed_ns);
	if (used.n > 0)
		json_null(json, "why_not");
	else
		json_text(json, "why_not", used.why_not.text);
	json_array(json, "domains");
	for (size_t i = 0; i < used.n; i++) {
		const struct energy_domain *domain = &used.domains[i];
		json_object(json, NULL);
		json_text(json, "zone", domain->zone);
		json_text(json, "name", domain->name);
		print_known(json, "energy_uj", domain->is_known, domain->uj);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

// What the generator's own ports dropped, by the direction that they receive.
static void print_ports(struct json *json, const struct generator *g)
{
	json_array(json, "ports");
	for (uint32_t i = 0; i < g->loop.n_receivers; i++) {
		const struct port_drops *before = &g->before.drops[i], *after = &g->after.drops[i];
		json_object(json, NULL);
		json_u64(json, "rx_missed", after->rx_missed - before->rx_missed);
		json_u64(json, "rx_no_mbuf", after->rx_no_mbuf - before->rx_no_mbuf);
		json_end(json);
	}
	json_end(json);
}

static void print_instrument(struct json *json, const struct generator *g)
{
	print_gaps(json, g);
	print_loop(json, g);
	print_records(json, g);
	print_ports(json, g);
	json_object(json, "in_flight");
	json_u64(json, "capacity", g->measurements[0].in_flight.mask + 1);
	json_u64(json, "deadline_ns", g->config->options.deadline_ns);
	json_end(json);
	json_object(json, "histogram_resolution");
	json_u64(json, "exact_below_ns", clock_ns(UINT64_C(1) << HISTOGRAM_EXACT_BITS, g->tsc_hz));
	json_double(json, "relative_above", ldexp(1, -HISTOGRAM_SUB_BITS), 3);
	json_end(json);
}

static void print_summary(struct json *json, const void *context)
{
	const struct generator *g = context;
	struct counters sum = {0};

	for (uint32_t i = 0; i < g->n_directions; i++)
		counters_add(&sum, &g->measurements[i].counters);
	json_object(json, NULL);
	json_u64(json, "format", 1);
	json_text(json, "version", TAUT_VERSION);
	json_u64(json, "run_id", g->config->run_id);
	json_u64(json, "epoch_tsc", g->epoch_tsc);
	print_clock(json, g);
	print_understood(json, g->config);
	print_rates(json, g, &sum);
	json_u64(json, "flows", g->config->options.flows);
	print_frames(json, &g->config->mix);
	json_i64(json, "core", g->eal.core);
	json_text(json, "memory", eal_memory(&g->eal));
	print_counters(json, "counters", &sum);
	json_array(json, "directions");
	for (uint32_t i = 0; i < g->n_directions; i++)
		print_counters(json, NULL, &g->measurements[i].counters);
	json_end(json);
	print_instrument(json, g);
	print_device_use(json, g);
	print_energy(json, g);
	json_end(json);
}

int summary_write(const struct generator *g)
{
	char path[PATH_MAX];

	generator_path(g, "generator.json", path, sizeof(path));
	if (g->config->options.json)
		(void)json_file_print(stdout, print_summary, g); // the flush at the end tells
	return json_file_write(path, print_summary, g);
}
