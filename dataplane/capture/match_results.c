#include "match_results.h"

#include "histogram_file.h"
#include "time_span.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	N_RECORDS = 4096,
	FIRST_BIN_NS = 1000000,
};

// Ticks of the record files are nanoseconds plus this, so that no time stamp is 0, which means
// never there.
static const uint64_t tick_bias = UINT64_C(1) << 62;

// The one stamp that would be 0 all the same, forged, is a nanosecond off.
static inline uint64_t tick_of(int64_t ts_ns)
{
	uint64_t tick = (uint64_t)ts_ns + tick_bias;

	return tick != 0 ? tick : 1;
}

static const uint16_t record_series[N_CAPTURE_SERIES] = {
	[CAPTURE_LATENCY] = SERIES_SERVICE,
	[CAPTURE_JITTER] = SERIES_JITTER,
	[CAPTURE_IPDV] = SERIES_IPDV,
	[CAPTURE_INTER_DEPARTURE] = SERIES_INTER_DEPARTURE,
	[CAPTURE_INTER_ARRIVAL] = SERIES_INTER_ARRIVAL,
};

// In the order of time. The distance is cold if either is.
static void count_arrival(void *context, const struct arrival *arrival)
{
	struct match_results *results = context;
	bool is_pair_cold = arrival->is_cold || results->previous_arrival.is_cold;

	if (results->has_arrival)
		exact_counts_add(&results->series[is_pair_cold][CAPTURE_INTER_ARRIVAL],
			span_ns(results->previous_arrival.ts_ns, arrival->ts_ns));
	results->previous_arrival = *arrival;
	results->has_arrival = true;
}

int match_results_init(
	struct match_results *results, const char *folder, int64_t skip_ns, bool wants_packets)
{
	memset(results, 0, sizeof(*results));
	results->folder = folder;
	// Without a warm-up nothing is cold, even where time runs back to before the first frame.
	results->skip_ns = skip_ns > 0 ? skip_ns : INT64_MIN;
	results->wants_packets = wants_packets;
	results->packets.fd = -1;
	results->envelope.width_ns = FIRST_BIN_NS;
	int err = 0;
	for (int cold = 0; err == 0 && cold <= (skip_ns > 0); cold++)
		for (int i = 0; err == 0 && i < N_CAPTURE_SERIES; i++)
			err = exact_counts_init(&results->series[cold][i], folder);
	if (err == 0)
		err = arrival_order_init(&results->arrivals, count_arrival, results);
	results->records = malloc(N_RECORDS * sizeof(*results->records));
	if (results->records == NULL)
		err = -ENOMEM;
	if (err < 0)
		match_results_fini(results);
	return err;
}

void match_results_fini(struct match_results *results)
{
	struct clock_point last = {.tsc = 1};

	for (int i = 0; i < 2 * N_CAPTURE_SERIES; i++)
		exact_counts_fini(&results->series[i / N_CAPTURE_SERIES][i % N_CAPTURE_SERIES]);
	record_file_close(&results->packets, &last);
	arrival_order_fini(&results->arrivals);
	free(results->records);
	results->records = NULL;
}

// Two clock points a second apart make a tick exactly a nanosecond.
static struct record_file_header header_of(const struct match_results *results)
{
	return (struct record_file_header){
		.n_flows = 1,
		.epoch_tsc = (uint64_t)results->first_ingress_ns + tick_bias,
		.nominal_tsc_hz = 1000000000,
		.first = {.tsc = 1},
		.last = {.tsc = 1000000001, .mono_raw_ns = 1000000000},
		.thread = "capture",
	};
}

static int create_file(struct match_results *results, const char *name, enum record_kind kind,
	struct record_file *out)
{
	struct record_file_header header = header_of(results);
	char path[4096];

	int len = snprintf(path, sizeof(path), "%s/%s", results->folder, name);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	return record_file_create(out, path, kind, &header);
}

static void write_packets(struct match_results *results)
{
	int err = 0;

	if (results->packets.fd < 0 && results->error == 0)
		err = create_file(results, "packets.bin", RECORD_PACKET, &results->packets);
	if (err == 0 && results->error == 0)
		err = record_file_append(&results->packets, results->records, results->n_records);
	results->n_records = 0;
	if (results->error == 0)
		results->error = err;
}

static struct packet_record *next_record(struct match_results *results)
{
	if (results->n_records == N_RECORDS)
		write_packets(results);
	return &results->records[results->n_records++];
}

static void record_ingress(
	struct match_results *results, const struct match_ingress *frame, bool is_cold)
{
	uint16_t flags = is_cold ? PACKET_COLD : 0;

	flags |= frame->class == MATCH_AMBIGUOUS ? PACKET_AMBIGUOUS : 0;
	flags |= frame->class == MATCH_TRUNCATED ? PACKET_TRUNCATED : 0;
	flags |= frame->is_out_of_sequence ? PACKET_OUT_OF_SEQUENCE : 0;
	*next_record(results) = (struct packet_record){
		.seq = frame->pos,
		.sent_tsc = tick_of(frame->ts_ns),
		.received_tsc = frame->class == MATCH_MATCHED ? tick_of(frame->egress_ts_ns) : 0,
		.frame_len = frame->frame_len,
		.flags = flags,
	};
}

// Fold the envelope's bins two by two.
static void envelope_widen(struct envelope *envelope)
{
	for (uint32_t i = 0; i < ENVELOPE_BINS; i++) {
		uint32_t into = i / 2;
		uint64_t n = envelope->bins[i].n;
		bool is_better = n > 0 && (i % 2 == 0 || envelope->bins[into].n == 0 ||
						  envelope->bins[i].least_ns <
							  envelope->bins[into].least_ns);
		uint64_t total = i % 2 == 0 ? n : n + envelope->bins[into].n;
		if (is_better)
			envelope->bins[into] = envelope->bins[i];
		envelope->bins[into].n = total;
	}
	memset(&envelope->bins[ENVELOPE_BINS / 2], 0, sizeof(envelope->bins) / 2);
	envelope->width_ns *= 2;
	envelope->n = (envelope->n + 1) / 2;
	envelope->bin = 0;
	envelope->bin_ns = 0;
}

// Not inlined: it divides, which takes as long as the rest of a packet.
__attribute__((noinline)) static void envelope_seek(struct envelope *envelope, uint64_t since)
{
	while (since / (uint64_t)envelope->width_ns >= ENVELOPE_BINS)
		envelope_widen(envelope);
	envelope->bin = (uint32_t)(since / (uint64_t)envelope->width_ns);
	envelope->bin_ns = envelope->bin * (uint64_t)envelope->width_ns;
}

static void envelope_add(struct envelope *envelope, int64_t at_ns, int64_t latency_ns)
{
	// Time that ran backwards to before the first frame counts for the first bin.
	uint64_t since = at_ns > 0 ? (uint64_t)at_ns : 0;

	if (since - envelope->bin_ns >= (uint64_t)envelope->width_ns)
		envelope_seek(envelope, since);
	uint32_t i = envelope->bin;
	if (envelope->bins[i].n++ == 0 || latency_ns < envelope->bins[i].least_ns) {
		envelope->bins[i].least_ns = latency_ns;
		envelope->bins[i].at_ns = at_ns;
	}
	if (i >= envelope->n)
		envelope->n = i + 1;
}

// A packet: sent, and matched or lost. Distances to the frame before it, where that is one, too,
// are cold if either is.
static void count_packet(
	struct match_results *results, const struct match_ingress *frame, bool is_cold)
{
	bool is_matched = frame->class == MATCH_MATCHED;
	int64_t latency_ns = is_matched ? span_ns(frame->ts_ns, frame->egress_ts_ns) : 0;
	bool follows = results->previous.is_any && results->previous.pos + 1 == frame->pos;
	bool is_pair_cold = is_cold || results->previous.is_cold;
	struct exact_counts *pair = results->series[is_pair_cold];

	if (follows)
		exact_counts_add(&pair[CAPTURE_INTER_DEPARTURE],
			span_ns(results->previous.ts_ns, frame->ts_ns));
	if (is_matched) {
		exact_counts_add(&results->series[is_cold][CAPTURE_LATENCY], latency_ns);
		envelope_add(&results->envelope, span_ns(results->first_ingress_ns, frame->ts_ns),
			latency_ns);
		results->n_cold_matched += is_cold;
		if (follows && results->previous.is_matched) {
			int64_t difference_ns = span_ns(results->previous.latency_ns, latency_ns);
			exact_counts_add(&pair[CAPTURE_IPDV], difference_ns);
			exact_counts_add(&pair[CAPTURE_JITTER],
				difference_ns < 0 ? -difference_ns : difference_ns);
		}
	}
	results->previous.pos = frame->pos;
	results->previous.ts_ns = frame->ts_ns;
	results->previous.latency_ns = latency_ns;
	results->previous.is_any = true;
	results->previous.is_matched = is_matched;
	results->previous.is_cold = is_cold;
}

static void take_ingress(struct match_results *results, const struct match_ingress *frame)
{
	bool is_cold = ns_minus(frame->ts_ns, results->first_ingress_ns) < results->skip_ns;

	if (frame->class == MATCH_MATCHED || frame->class == MATCH_LOST)
		count_packet(results, frame, is_cold);
	if (results->wants_packets)
		record_ingress(results, frame, is_cold);
}

static void take_arrival(struct match_results *results, const struct match_egress *frame)
{
	const struct arrival arrival = {
		.ts_ns = frame->ts_ns,
		.ingress_pos = frame->ingress_pos,
		.is_cold = ns_minus(frame->ingress_ts_ns, results->first_ingress_ns) <
			   results->skip_ns,
	};
	int err = arrival_order_add(&results->arrivals, arrival);

	if (results->error == 0)
		results->error = err;
}

// A record of its own for an egress frame that is no packet's first receipt.
static void record_egress(struct match_results *results, const struct match_egress *frame)
{
	static const uint16_t flags[N_MATCH_CLASSES] = {
		[MATCH_DUPLICATE] = PACKET_DUPLICATE,
		[MATCH_BEYOND_WINDOW] = PACKET_LATE,
		[MATCH_ORPHAN] = PACKET_ORPHAN,
		[MATCH_AMBIGUOUS] = PACKET_AMBIGUOUS,
		[MATCH_TRUNCATED] = PACKET_TRUNCATED,
	};
	bool is_cold = ns_minus(frame->ts_ns, results->first_egress_ns) < results->skip_ns;

	*next_record(results) = (struct packet_record){
		.seq = frame->ingress_pos,
		.received_tsc = tick_of(frame->ts_ns),
		.frame_len = frame->frame_len,
		.flags = (uint16_t)(flags[frame->class] | (is_cold ? PACKET_COLD : 0)),
	};
}

static void take_egress(struct match_results *results, const struct match_egress *frame)
{
	if (frame->class == MATCH_MATCHED)
		take_arrival(results, frame);
	else if (results->wants_packets)
		record_egress(results, frame);
}

void match_results_take(struct match_results *results, const struct match_result *given, size_t n)
{
	for (const struct match_result *result = given; result < given + n; result++) {
		if (result->is_ingress)
			take_ingress(results, &result->ingress);
		else
			take_egress(results, &result->egress);
	}
}

struct series_output {
	struct histogram_file *file;
	struct histogram_record next; // all but value and count
};

static int give_count(void *context, const struct exact_count *count)
{
	struct series_output *out = context;

	out->next.value_ticks = count->value;
	out->next.count = count->n;
	histogram_file_add(out->file, &out->next);
	return 0;
}

static int write_histograms(struct match_results *results)
{
	static struct histogram_file file;
	struct clock_point last = header_of(results).last;
	int err = create_file(results, "histograms.bin", RECORD_HISTOGRAM, &file.file);

	if (err < 0)
		return err;
	for (int cold = 0; cold <= (results->skip_ns > 0); cold++)
		for (int i = 0; err == 0 && i < N_CAPTURE_SERIES; i++) {
			struct series_output out = {&file, {.width_ticks = 1,
								   .series = record_series[i],
								   .is_cold = (uint8_t)cold}};
			err = exact_counts_each(&results->series[cold][i], give_count, &out);
		}
	int close_err = histogram_file_close(&file, &last);
	return err < 0 ? err : close_err;
}

int match_results_finish(struct match_results *results)
{
	int arrival_err = arrival_order_end(&results->arrivals);

	if (results->error == 0)
		results->error = arrival_err;
	if (results->wants_packets)
		write_packets(results);
	struct clock_point last = header_of(results).last;
	int err = record_file_close(&results->packets, &last);
	if (results->error < 0)
		err = results->error;
	return err == 0 ? write_histograms(results) : err;
}
