#include "inject_report.h"

#include "cause_table.h"
#include "json_file.h"

#include <inttypes.h>
#include <sched.h>

enum { PATH_LEN = 4096 };

static void print_cause(struct json *json, const struct injector *injector)
{
	json_text(json, "cause", injector->ops->name);
	json_text(json, "cause_options", injector->config.cause_options);
	json_text(json, "arg", injector->ops->arg);
	json_array(json, "causes");
	for (size_t i = 0; i < cause_table_size; i++)
		json_text(json, NULL, cause_table[i]->name);
	json_end(json);
}

static void print_counts(struct json *json, const struct injector *injector)
{
	json_u64(json, "sent", injector->n_sent);
	json_u64(json, "not_sent", injector->n_not_sent);
	json_u64(json, "overdue", injector->n_overdue);
	json_u64(json, "late", injector->n_late);
	json_u64(json, "records", injector->log->n);
	json_u64(json, "not_logged", injector->log->not_logged);
}

// What sent interrupts could reach: of a --victim it is not known whether it ran.
static void print_interrupts_possible(struct json *json, const struct injector *injector)
{
	if (injector->ops->sends_ipi && injector->poller == NULL)
		json_null(json, "interrupts_possible");
	else
		json_bool(json, "interrupts_possible", injector->ops->sends_ipi);
}

static void print_poller(struct json *json, const struct injector *injector)
{
	const struct poller *poller = injector->poller;

	json_bool(json, "polled", poller != NULL);
	if (poller == NULL) {
		json_null(json, "gaps");
		json_null(json, "felt");
		return;
	}
	json_object(json, "gaps");
	json_u64(json, "n", poller_result(poller)->n_gaps);
	json_u64(json, "not_logged", poller_result(poller)->gaps_not_logged);
	json_u64(json, "threshold_ns", injector->config.threshold_ns);
	json_u64(json, "first_tsc", poller_result(poller)->first_tsc);
	json_u64(json, "last_tsc", poller_result(poller)->last_tsc);
	json_end(json);
	// Of the acts that came behind what there was room for nobody can tell.
	if (poller_result(poller)->n_judged < injector->log->n)
		json_null(json, "felt");
	else
		json_u64(json, "felt", poller_result(poller)->n_felt);
}

static const char *why_stopped(const struct injector *injector, bool was_interrupted)
{
	if (injector->err < 0)
		return "error";
	if (injector->victim_ended)
		return "victim";
	return was_interrupted ? "signal" : "duration";
}

struct report {
	const struct injector *injector;
	bool was_interrupted;
};

static void print(struct json *json, const void *context)
{
	const struct report *report = context;
	const struct injector *injector = report->injector;
	const struct injector_config *config = &injector->config;
	const struct poller *poller = injector->poller;

	json_object(json, NULL);
	json_u64(json, "format", 1);
	json_text(json, "version", TAUT_VERSION);
	json_text(json, "stop", why_stopped(injector, report->was_interrupted));
	print_cause(json, injector);
	json_i64(json, "core", config->core);
	json_text(json, "place", injector->ops->place == CAUSE_ON_CORE ? "on-core" : "from-afar");
	json_fixed(json, "rate_per_s",
		(double)config->rate.acts * 1e9 / (double)config->rate.per_ns, 6);
	json_u64(json, "duration_ns", config->duration_ns);
	json_u64(json, "seed", config->seed);
	print_counts(json, injector);
	json_object(json, "threads");
	json_i64(json, "victim", poller == NULL ? injector->env.victim_pid : poller_tid(poller));
	json_i64(json, "injector", injector->tid);
	json_end(json);
	json_i64(json, "victim_pid", injector->env.victim_pid);
	print_interrupts_possible(json, injector);
	print_poller(json, injector);
	json_u64(json, "start_tsc", injector->start_tsc);
	json_u64(json, "end_tsc", injector->end_tsc);
	json_u64(json, "nominal_tsc_hz", injector->tsc_hz);
	json_end(json);
}

void inject_report_print(FILE *out, const struct injector *injector, bool was_interrupted)
{
	const struct report report = {injector, was_interrupted};

	(void)json_file_print(out, print, &report); // the flush at the end tells
}

static void say_felt(FILE *out, const struct injector *injector)
{
	const struct poller_result *found = poller_result(injector->poller);
	bool is_whole = found->n_judged == injector->log->n;

	fprintf(out, "; %" PRIu64 " of %s%" PRIu64 " stretches in a gap of the poller's",
		found->n_felt, is_whole ? "" : "the first ", found->n_judged);
	if (!is_whole && found->gaps_not_logged > 0)
		fprintf(out, "; %" PRIu64 " gaps had no room: --records", found->gaps_not_logged);
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
		say_felt(out, injector);
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

int inject_report_write(const struct injector *injector, const char *folder, bool was_interrupted)
{
	const struct report report = {injector, was_interrupted};
	char path[PATH_LEN];
	int err = write_injections(injector, folder);

	snprintf(path, sizeof(path), "%s/inject.json", folder);
	return err < 0 ? err : json_file_write(path, print, &report);
}
