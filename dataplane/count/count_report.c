#include "count_report.h"

#include "histogram_file.h"
#include "json_file.h"
#include "out_file.h"
#include "packet_blocks.h"

#include <math.h>

// In the order of records/layout.py; poll periods are not a packet's.
static const enum histogram_series counted_series[] = {
	SERIES_SERVICE,
	SERIES_INTENT,
	SERIES_JITTER,
	SERIES_DEPARTURE_ERROR,
	SERIES_INTER_DEPARTURE,
	SERIES_ARRIVAL_WINDOW,
	SERIES_IPDV,
	SERIES_INTER_ARRIVAL,
};

static const char *const packet_counters[N_PACKET_COUNTERS] = {
	[COUNT_DUE] = "due",
	[COUNT_SENT] = "sent",
	[COUNT_UNSENT] = "unsent",
	[COUNT_MATCHED] = "matched",
	[COUNT_LOST] = "lost",
	[COUNT_VOID] = "void",
	[COUNT_VOID_MATCHED] = "void_matched",
	[COUNT_OUT_OF_SEQUENCE] = "out_of_sequence",
};

static const char *const extra_counters[N_EXTRA_COUNTERS] = {
	[COUNT_LATE] = "late",
	[COUNT_DUPLICATES] = "duplicates",
	[COUNT_ORPHANS] = "orphans",
};

int count_report_open_times(const char *folder, struct record_file *times)
{
	return out_file_create(folder, "times.bin", RECORD_TIME_COUNT, times);
}

int count_report_times(void *context, const struct time_count_record *records, size_t n)
{
	return record_file_append(context, records, n);
}

static int write_worst(struct worst_packets *packets, const char *folder)
{
	const struct packet *worst;
	size_t n = worst_packets_end(packets, &worst);
	struct packet_blocks *blocks;
	int err = packet_blocks_create(folder, "worst.bin", &blocks);

	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < n; i++)
		err = packet_blocks_add(blocks, &worst[i]);
	int close_err = packet_blocks_close(blocks);
	return err < 0 ? err : close_err;
}

struct series_output {
	struct histogram_file *file;
	struct histogram_record next; // all but value, width and count
	bool is_coarse;
};

static int give_count(void *context, const struct value_count *count)
{
	struct series_output *out = context;

	out->next.value_ticks = count->value;
	out->next.width_ticks = out->is_coarse ? value_counts_width(count->value) : 1;
	out->next.count = count->n;
	histogram_file_add(out->file, &out->next);
	return 0;
}

// Direction, void, cold, values ascending: the order distribution.parquet has within a metric.
static int write_series(const struct packet_counts *counts, enum histogram_series series,
	struct histogram_file *file)
{
	int err = 0;

	for (unsigned int group = 0; err == 0 && group < 8; group++) {
		bool is_void = group >> 1 & 1;
		bool is_cold = group & 1;
		const struct value_counts *values = packet_counts_values(
			counts, series, (uint8_t)(group >> 2), is_void, is_cold);
		if (values == NULL)
			continue;
		struct series_output out = {
			.file = file,
			.next = {.series = (uint16_t)series,
				.is_void = is_void,
				.is_cold = is_cold,
				.direction = (uint8_t)(group >> 2)},
			.is_coarse = values->is_coarse,
		};
		err = value_counts_each(values, give_count, &out);
	}
	return err;
}

static int write_histograms(const struct packet_counts *counts, const char *folder)
{
	static struct histogram_file file;
	int err = out_file_create(folder, "histograms.bin", RECORD_HISTOGRAM, &file.file);

	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < sizeof(counted_series) / sizeof(counted_series[0]); i++)
		err = write_series(counts, counted_series[i], &file);
	int close_err = histogram_file_close(&file, &file.file.header.last);
	return err < 0 ? err : close_err;
}

// Each direction, warm-up and not, that has any: as the rows of a metric of counts.
static void print_groups(struct json *json, const struct packet_counts *counts, bool is_extra)
{
	for (unsigned int i = 0; i < 4; i++) {
		uint8_t direction = (uint8_t)(i >> 1);
		bool is_cold = i & 1;
		const struct group_counts *group = packet_counts_group(counts, direction, is_cold);
		if ((is_extra ? group->n_extra : group->packets[COUNT_DUE]) == 0)
			continue;
		json_object(json, NULL);
		json_u64(json, "direction", direction);
		json_bool(json, "is_cold", is_cold);
		for (int k = 0; is_extra && k < N_EXTRA_COUNTERS; k++)
			json_u64(json, extra_counters[k], group->extra[k]);
		for (int k = 0; !is_extra && k < N_PACKET_COUNTERS; k++)
			json_u64(json, packet_counters[k], group->packets[k]);
		json_end(json);
	}
}

static int write_json(const char *folder, const char *name, json_print *print, const void *what)
{
	char path[OUT_PATH_LEN];
	int err = out_path(folder, name, path);

	return err < 0 ? err : json_file_write(path, print, what);
}

static void print_count(struct json *json, const void *what)
{
	const struct packet_counts *counts = what;
	struct time_span span = time_counts_span(packet_counts_by_time(counts));

	json_object(json, NULL);
	json_array(json, "packets");
	print_groups(json, counts, false);
	json_end(json);
	json_array(json, "extra");
	print_groups(json, counts, true);
	json_end(json);
	json_u64(json, "exact_values_most", VALUE_COUNTS_MOST);
	json_object(json, "histogram_resolution");
	json_u64(json, "exact_below_ns", UINT64_C(1) << HISTOGRAM_EXACT_BITS);
	json_double(json, "relative_above", ldexp(1, -HISTOGRAM_SUB_BITS), 3);
	json_end(json);
	if (span.is_any) {
		json_i64(json, "first_sent_ns", span.first_ns);
		json_i64(json, "last_sent_ns", span.last_ns);
	}
	json_end(json);
}

int count_report_write(struct packet_counts *counts, const char *folder)
{
	int err = write_histograms(counts, folder);

	if (err == 0)
		err = write_worst(packet_counts_worst(counts), folder);
	return err == 0 ? write_json(folder, "count.json", print_count, counts) : err;
}

static void print_episode(struct json *json, const struct episode *episode)
{
	json_object(json, NULL);
	json_u64(json, "direction", episode->direction);
	if (episode->has_due)
		json_i64(json, "due_ns", episode->due_ns);
	json_i64(json, "start_ns", episode->start_ns);
	json_i64(json, "end_ns", episode->end_ns);
	json_i64(json, "duration_ns", episode->duration_ns);
	json_i64(json, "depth_ns", episode->depth_ns);
	json_u64(json, "first_seq", episode->first_seq);
	json_u64(json, "packets", episode->packets);
	json_u64(json, "late", episode->late);
	json_u64(json, "lost", episode->lost);
	json_u64(json, "unsent", episode->unsent);
	json_u64(json, "void_packets", episode->void_packets);
	json_end(json);
}

static void print_episodes(struct json *json, const void *what)
{
	const struct episodes *episodes = what;
	const struct episode_totals *totals = episodes_totals(episodes);
	const struct episode *worst;
	size_t n_worst = episodes_worst(episodes, &worst);

	json_object(json, NULL);
	json_object(json, "totals");
	json_u64(json, "n", totals->n);
	json_u64(json, "packets", totals->packets);
	json_u64(json, "lost", totals->lost);
	json_u64(json, "unsent", totals->unsent);
	json_u64(json, "touched_by_void", totals->touched_by_void);
	json_u64(json, "all_void", totals->all_void);
	json_i64(json, "longest_ns", totals->longest_ns);
	json_i64(json, "deepest_ns", totals->deepest_ns);
	json_u64(json, "loss_bursts", totals->loss_bursts);
	json_u64(json, "longest_loss_burst", totals->longest_loss_burst);
	json_end(json);
	json_array(json, "worst");
	for (size_t i = 0; i < n_worst; i++)
		print_episode(json, &worst[i]);
	json_end(json);
	json_end(json);
}

int count_report_write_episodes(const struct episodes *episodes, const char *folder)
{
	return write_json(folder, "episodes.json", print_episodes, episodes);
}
