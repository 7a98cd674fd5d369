// taut-count: one pass over the records of a trial. It counts every value of every metric exactly
// and keeps the slowest packets; with --late-above it finds the episodes instead.
// analysis/one_pass.py asks it for what engines are asked in SQL: the same numbers. Status
// EXIT_UNMET: it is not for one pass, an engine has to count.

#include "command_line.h"
#include "count_report.h"
#include "count_stages.h"
#include "late_packets.h"
#include "out_file.h"
#include "program.h"
#include "seq_order.h"

#include <errno.h>
#include <stdlib.h>

struct count_options {
	const char *packets, *out;
	uint64_t flows, worst;
	int64_t late_above_ns; // INT64_MIN: everything is counted
	int64_t note_above_ns; // INT64_MIN: nothing is noted
	bool in_order;
};

enum { LATE_PACKETS_MOST = 1 << 22 }; // 172 MiB

#define OPTION(member) .offset = offsetof(struct count_options, member)

static const struct option_spec options_table[] = {
	{.name = "packets",
		.metavar = "PACKETS",
		.type = OPTION_STRING,
		OPTION(packets),
		.default_text = NULL,
		.help = "packets.bin of taut-generate or taut-match; -: stdin"},
	{.name = "out",
		.metavar = "DIR",
		.type = OPTION_STRING,
		OPTION(out),
		.default_text = ".",
		.help = "folder for the results; made if missing"},
	{.name = "flows",
		.type = OPTION_UINT,
		OPTION(flows),
		.default_text = "1",
		.min = 1,
		.max = UINT64_C(1) << 24,
		.help = "flows that took turns: jitter is between packets of one"},
	{.name = "worst",
		.type = OPTION_UINT,
		OPTION(worst),
		.default_text = "5000",
		.max = UINT64_C(1) << 24,
		.help = "how many of the slowest packets to keep"},
	{.name = "late-above",
		.type = OPTION_SIGNED_DURATION,
		OPTION(late_above_ns),
		.default_text = "",
		.help = "find the episodes of packets that took longer, and count nothing else"},
	{.name = "in-order",
		.type = OPTION_FLAG,
		OPTION(in_order),
		.default_text = "off",
		.help = "with --late-above: packets of a direction come in the order of their "
			"numbers, as in late.bin"},
	{.name = "note-above",
		.type = OPTION_SIGNED_DURATION,
		OPTION(note_above_ns),
		.default_text = "",
		.help = "note packets that took longer or did not come in late.bin: those with "
			"episodes"},
};

static const char *const positionals[] = {"packets", NULL};

static const char *const examples[] = {
	"packets.bin --flows 4 --out counted",
	NULL,
};

static const struct command_line line = {
	.program = "taut-count",
	.summary = "count the records of a trial in one pass",
	.usage = "PACKETS [OPTIONS]",
	.examples = examples,
	.version = TAUT_VERSION,
	.options = options_table,
	.n_options = sizeof(options_table) / sizeof(options_table[0]),
	.positionals = positionals,
};

// Records that one pass cannot count are for an engine; the rest is the file's fault, or this
// machine's, and an engine would fare no better.
static int stopped(int err, const struct error *error)
{
	if (err == -EINVAL || program_has_no_room(err))
		return program_refuse(error);
	LOG(ERROR, "%s", error->text);
	return err == -ERANGE ? EXIT_UNMET : EXIT_FAILED;
}

struct count_run {
	struct packet_counts *counts;
	struct record_file times;
	struct late_packets *late; // NULL: none are noted
};

static int open_files(const struct count_options *options, struct count_run *run)
{
	int err = count_report_open_times(options->out, &run->times);

	if (err == 0 && options->note_above_ns != INT64_MIN)
		err = late_packets_create(
			options->out, options->note_above_ns, LATE_PACKETS_MOST, &run->late);
	return err;
}

static int close_files(struct count_run *run)
{
	int err = out_file_close(&run->times);
	int late_err = late_packets_close(run->late);

	return err < 0 ? err : late_err;
}

static int count_all(const struct count_options *options, struct packet_reader *reader)
{
	struct count_run run = {.times = {.fd = -1}};
	struct error error;
	int status = EXIT_DONE;
	int err = open_files(options, &run);

	if (err == 0) {
		const struct packet_counts_config config = {
			options->flows, options->worst, count_report_times, &run.times, run.late};
		err = packet_counts_create(&config, &run.counts);
		if (err < 0)
			error_set(&error, "out of memory");
		else
			err = count_stages_run(reader, run.counts, &error);
		if (err < 0)
			status = stopped(err, &error);
	}
	if (err == 0)
		err = time_counts_end(packet_counts_by_time(run.counts));
	int close_err = close_files(&run);
	if (err == 0)
		err = close_err;
	if (err == 0)
		err = count_report_write(run.counts, options->out);
	if (err < 0 && status == EXIT_DONE)
		status = program_not_written(options->out, err);
	packet_counts_destroy(run.counts);
	return status;
}

struct late_run {
	bool in_order;
	struct episodes *episodes;
	struct seq_order *order[2];
};

static int take_first(void *context, const struct seq_packet *packet)
{
	return episodes_add(context, 0, packet);
}

static int take_second(void *context, const struct seq_packet *packet)
{
	return episodes_add(context, 1, packet);
}

static int add_batch(struct late_run *run, const struct packet_batch *batch)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < batch->n; i++) {
		const struct packet *packet = &batch->packets[i];
		const struct seq_packet in_turn = {packet->seq, packet->due_ns, packet->sent_ns,
			packet->received_ns, packet->flags};
		if (packet->flags & EXTRA_FLAGS)
			continue;
		if (packet->direction > 1 || packet_refusal(packet) != NULL)
			return -ERANGE;
		err = run->in_order ? episodes_add(run->episodes, packet->direction, &in_turn)
				    : seq_order_add(run->order[packet->direction], &in_turn);
	}
	return err;
}

static int find_all(struct late_run *run, struct packet_reader *reader, struct error *error)
{
	struct packet_batch batch = {.n = 1};
	int err = 0;

	while (err == 0 && batch.n > 0) {
		err = packet_reader_next(reader, &batch, error);
		if (err < 0)
			return err;
		err = add_batch(run, &batch);
	}
	for (int i = 0; err == 0 && i < 2; i++)
		err = seq_order_end(run->order[i]);
	if (err == 0)
		err = episodes_end(run->episodes);
	if (err < 0)
		error_set(error, err == -ENOMEM
					 ? "out of memory"
					 : "records: out of order, or damaged: not for one pass");
	return err;
}

static int find_episodes(const struct count_options *options, struct packet_reader *reader)
{
	struct late_run run = {.in_order = options->in_order};
	struct error error;
	int err = episodes_create(options->late_above_ns, &run.episodes);

	if (err == 0)
		err = seq_order_create(take_first, run.episodes, &run.order[0]);
	if (err == 0)
		err = seq_order_create(take_second, run.episodes, &run.order[1]);
	if (err < 0)
		error_set(&error, "out of memory");
	else
		err = find_all(&run, reader, &error);
	int status = err < 0 ? stopped(err, &error) : EXIT_DONE;
	if (err == 0)
		err = count_report_write_episodes(run.episodes, options->out);
	if (err < 0 && status == EXIT_DONE)
		status = program_not_written(options->out, err);
	seq_order_destroy(run.order[0]);
	seq_order_destroy(run.order[1]);
	episodes_destroy(run.episodes);
	return status;
}

static int run_count(const struct count_options *options)
{
	struct packet_reader *reader;
	struct error error;
	int status;

	if (program_make_out(options->out, &error) < 0 ||
		packet_reader_open(options->packets, &reader, &error) < 0)
		return program_refuse(&error);
	if (options->late_above_ns != INT64_MIN)
		status = find_episodes(options, reader);
	else
		status = count_all(options, reader);
	packet_reader_close(reader);
	return status;
}

int main(int argc, char **argv)
{
	struct count_options options;
	struct error error;
	int n_used;

	program_start(line.program, LOG_LEVEL_WARNING);
	int err = command_line_parse(&line, argc, argv, &options, &n_used, &error);
	int status = err < 0 ? program_refuse(&error) : program_flush();
	return err == COMMAND_LINE_RUN ? run_count(&options) : status;
}
