#include "stats.h"

#include "clock.h"
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void print_ports(FILE *out, const struct config *config, const struct worker *worker)
{
	fprintf(out, "\"ports\":[");
	for (uint16_t i = 0; i < worker->n_ports; i++) {
		fprintf(out, "%s{\"spec\":", i > 0 ? "," : "");
		json_string(out, config->specs[i].text);
		fprintf(out, ",\"rx\":%lu,\"tx\":%lu,\"tx_refused\":%lu}",
			(unsigned long)worker->n_rx[i], (unsigned long)worker->egress[i].n_tx,
			(unsigned long)worker->egress[i].n_refused);
	}
	fprintf(out, "],");
}

static void print_nfs(FILE *out, const struct config *config, const struct worker *worker)
{
	fprintf(out, "\"nf\":[");
	for (size_t i = 0; i < config->nfs.n; i++) {
		fprintf(out, "%s", i > 0 ? "," : "");
		json_string(out, config->nfs.items[i]);
	}
	fprintf(out, "],\"nfs\":[");
	for (uint16_t i = 0; i < worker->pipeline.n_stages; i++) {
		const struct pipeline_stage *stage = &worker->pipeline.stages[i];
		// What a holding function took and never gave back was dropped, or is held still.
		uint64_t n_overflown =
			stage->ops->n_dropped != NULL ? stage->ops->n_dropped(stage->state) : 0;
		fprintf(out, "%s{\"name\":\"%s\",\"in\":%lu,\"dropped\":%lu,\"held\":%lu}",
			i > 0 ? "," : "", stage->ops->name, (unsigned long)stage->n_in,
			(unsigned long)(stage->n_dropped + n_overflown),
			(unsigned long)(stage->n_held - stage->n_released - n_overflown));
	}
	fprintf(out, "],");
}

static void print_gaps(
	FILE *out, const struct config *config, const struct gap_log *gaps, uint64_t tsc_hz)
{
	fprintf(out,
		"\"gaps\":{\"n\":%lu,\"total_ns\":%lu,\"max_ns\":%lu,\"not_logged\":%lu,"
		"\"threshold_ns\":%lu,\"per_packet_ns\":%lu},",
		(unsigned long)gaps->n, (unsigned long)clock_ns(gaps->total_ticks, tsc_hz),
		(unsigned long)clock_ns(gaps->max_ticks, tsc_hz), (unsigned long)gaps->not_logged,
		(unsigned long)config->gap_threshold_ns, (unsigned long)config->gap_per_packet_ns);
}

int stats_write(const struct config *config, const struct worker *worker, const struct eal *eal,
	uint64_t tsc_hz, uint64_t duration_ticks, const char *stop)
{
	bool to_stdout = strcmp(config->stats_path, "-") == 0;
	FILE *out = to_stdout ? stdout : fopen(config->stats_path, "we");

	if (out == NULL)
		return -errno;
	fprintf(out, "{\"format\":1,\"version\":\"%s\",\"core\":%d,\"transmit\":", TAUT_VERSION,
		eal->core);
	json_string(out, config->transmit);
	fprintf(out, ",\"burst\":%u,\"duration_ns\":%lu,\"iterations\":%lu,\"min_loop_ns\":%lu,",
		worker->burst, (unsigned long)clock_ns(duration_ticks, tsc_hz),
		(unsigned long)worker->n_iterations,
		(unsigned long)clock_ns(
			worker->n_iterations > 0 ? worker->min_loop_ticks : 0, tsc_hz));
	print_ports(out, config, worker);
	print_nfs(out, config, worker);
	print_gaps(out, config, &worker->gaps, tsc_hz);
	fprintf(out, "\"unforwarded\":%lu,\"memory\":\"%s\",\"stop\":\"%s\"}\n",
		(unsigned long)worker->n_unforwarded, eal_memory(eal), stop);
	int err = ferror(out) ? -EIO : 0;
	if (to_stdout)
		fflush(out);
	else if (fclose(out) != 0)
		err = -errno;
	return err;
}
