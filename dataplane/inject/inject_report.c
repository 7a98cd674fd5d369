#include "inject_report.h"

#include "cause_table.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

enum { PATH_LEN = 4096 };

static void print_cause(FILE *out, const struct injector *injector)
{
	fputs(",\"cause\":", out);
	json_string(out, injector->ops->name);
	fputs(",\"cause_options\":", out);
	json_string(out, injector->config.cause_options);
	fputs(",\"arg\":", out);
	json_string(out, injector->ops->arg);
	fputs(",\"causes\":[", out);
	for (size_t i = 0; i < cause_table_size; i++) {
		fputs(i > 0 ? "," : "", out);
		json_string(out, cause_table[i]->name);
	}
	fputc(']', out);
}

static void print_counts(FILE *out, const struct injector *injector)
{
	const struct injection_log *log = injector->log;

	fprintf(out,
		",\"sent\":%" PRIu64 ",\"not_sent\":%" PRIu64 ",\"overdue\":%" PRIu64
		",\"late\":%" PRIu64 ",\"records\":%" PRIu64 ",\"not_logged\":%" PRIu64,
		injector->n_sent, injector->n_not_sent, injector->n_overdue, injector->n_late,
		log->n, log->not_logged);
}

// What sent interrupts could reach: of a --victim it is not known whether it ran.
static const char *interrupts_possible(const struct injector *injector)
{
	if (!injector->ops->sends_ipi)
		return "false";
	return injector->poller == NULL ? "null" : "true";
}

static void print_poller(FILE *out, const struct injector *injector)
{
	const struct poller *poller = injector->poller;

	if (poller == NULL) {
		fputs(",\"polled\":false,\"gaps\":null,\"felt\":null", out);
		return;
	}
	fprintf(out,
		",\"polled\":true,\"gaps\":{\"n\":%" PRIu64 ",\"not_logged\":%" PRIu64
		",\"threshold_ns\":%" PRIu64 ",\"first_tsc\":%" PRIu64 ",\"last_tsc\":%" PRIu64
		"},\"felt\":%" PRIu64,
		poller->result.n_gaps, poller->result.gaps_not_logged,
		injector->config.threshold_ns, poller->result.first_tsc, poller->result.last_tsc,
		poller->result.n_felt);
}

static const char *why_stopped(const struct injector *injector, bool was_interrupted)
{
	if (injector->err < 0)
		return "error";
	if (injector->victim_ended)
		return "victim";
	return was_interrupted ? "signal" : "duration";
}

void inject_report_print(FILE *out, const struct injector *injector, bool was_interrupted)
{
	const struct injector_config *config = &injector->config;
	const struct poller *poller = injector->poller;
	int victim_tid = poller == NULL ? injector->env.victim_pid : poller->tid;

	fprintf(out, "{\"format\":1,\"version\":\"%s\",\"stop\":\"%s\"", TAUT_VERSION,
		why_stopped(injector, was_interrupted));
	print_cause(out, injector);
	fprintf(out, ",\"core\":%d,\"place\":\"%s\"", config->core,
		injector->ops->place == CAUSE_ON_CORE ? "on-core" : "from-afar");
	fprintf(out, ",\"rate_per_s\":%.6f,\"duration_ns\":%" PRIu64 ",\"seed\":%" PRIu64,
		(double)config->rate.acts * 1e9 / (double)config->rate.per_ns, config->duration_ns,
		config->seed);
	print_counts(out, injector);
	fprintf(out, ",\"threads\":{\"victim\":%d,\"injector\":%d},\"victim_pid\":%d", victim_tid,
		(int)injector->tid, (int)injector->env.victim_pid);
	fprintf(out, ",\"interrupts_possible\":%s", interrupts_possible(injector));
	print_poller(out, injector);
	fprintf(out,
		",\"start_tsc\":%" PRIu64 ",\"end_tsc\":%" PRIu64 ",\"nominal_tsc_hz\":%" PRIu64
		"}\n",
		injector->start_tsc, injector->end_tsc, injector->tsc_hz);
}

void inject_report_say(FILE *out, const struct injector *injector)
{
	uint64_t ns = clock_ns(injector->end_tsc - injector->start_tsc, injector->tsc_hz);

	fprintf(out,
		"%s: %" PRIu64 " acts on core %d in %.1f s, %" PRIu64 " not sent, %" PRIu64
		" overdue, %" PRIu64 " late",
		injector->ops->name, injector->n_sent, injector->config.core, (double)ns / 1e9,
		injector->n_not_sent, injector->n_overdue, injector->n_late);
	if (injector->poller != NULL)
		fprintf(out, "; %" PRIu64 " of %" PRIu64 " stretches in a gap of the poller's",
			injector->poller->result.n_felt, injector->log->n);
	fputc('\n', out);
}

static int write_injections(const struct injector *injector, const char *folder)
{
	const struct record_file_header header = {
		.epoch_tsc = injector->start_tsc,
		.nominal_tsc_hz = injector->tsc_hz,
		.first = injector->points[0],
		.thread = "inject",
	};
	char path[PATH_LEN];

	snprintf(path, sizeof(path), "%s/injections.bin", folder);
	return injection_log_write(
		injector->log, path, &header, &injector->points[2 * CLOCK_POINTS - 1]);
}

static int close_checked(FILE *file)
{
	int err = fflush(file) != 0 || ferror(file) ? -errno : 0;

	if (fclose(file) != 0 && err == 0)
		err = -errno;
	return err;
}

int inject_report_write(const struct injector *injector, const char *folder, bool was_interrupted)
{
	char path[PATH_LEN], temporary[PATH_LEN + 8];
	int err = write_injections(injector, folder);

	if (err < 0)
		return err;
	snprintf(path, sizeof(path), "%s/inject.json", folder);
	snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	FILE *file = fopen(temporary, "we");
	if (file == NULL)
		return -errno;
	inject_report_print(file, injector, was_interrupted);
	err = close_checked(file);
	if (err == 0 && rename(temporary, path) < 0)
		err = -errno;
	if (err < 0)
		(void)unlink(temporary);
	return err;
}
