// Frames with any time stamps through the matcher into the results: the first byte chooses window,
// warm-up and the envelope's first bins, then each frame is a byte (side, key, form of its time
// stamp) and its time stamp.
// What is counted is compared with the same sums done in 128 bits.

#include "fuzz.h"
#include "match_results.h"
#include "time_span.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { STRIDE = 16, INPUTS_A_FILE = 4096, WIDTH_NS = 1000000, MAX_ARRIVALS = 256 };

static const int64_t windows_ns[] = {1, 100, 5000000000, 3600000000000};
static const int64_t skips_ns[] = {0, 1, 1000000000, INT64_C(1) << 62};

static char folder[] = "/tmp/taut-fuzz-results-XXXXXX";
static struct match_results results;
static uint64_t n_inputs;

// What the results should know of the packets so far.
static struct {
	uint64_t pos, n_matched;
	int64_t sent_ns, latency_ns;
	bool is_any, is_matched, is_cold;
	struct arrival arrivals[MAX_ARRIVALS]; // in the order of time
	size_t n_arrivals; // beyond the most, the rest are not looked at
} model;

static int64_t clamped(__int128 value)
{
	if (value > INT64_MAX)
		return INT64_MAX;
	return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static int64_t span(__int128 value)
{
	if (value > span_most_ns)
		return span_most_ns;
	return value < -span_most_ns ? -span_most_ns : (int64_t)value;
}

static bool is_cold(int64_t from_ns, int64_t ns)
{
	return clamped((__int128)ns - from_ns) < results.skip_ns;
}

// One value that a series is to count next.
struct wanted {
	const struct exact_counts *counts; // NULL: none
	int64_t value;
	uint64_t before;
};

static bool is_dense(int64_t value)
{
	return value >= EXACT_DENSE_LEAST && value < EXACT_DENSE_END;
}

static uint64_t seen(const struct exact_counts *counts, int64_t value)
{
	return is_dense(value) ? counts->dense[value - EXACT_DENSE_LEAST] : counts->n_unsorted;
}

static struct wanted want(bool cold, enum capture_series series, __int128 value)
{
	const struct exact_counts *counts = &results.series[cold][series];
	int64_t held = span(value);

	return (struct wanted){counts, held, seen(counts, held)};
}

static void check(const struct wanted *wanted)
{
	if (wanted->counts == NULL)
		return;
	uint64_t now = seen(wanted->counts, wanted->value);
	// Full, the values outside the array are merged, and none are left unsorted.
	if (!is_dense(wanted->value) && now == 0)
		return;
	must(now == wanted->before + 1, "the value was counted");
	if (!is_dense(wanted->value))
		must(wanted->counts->unsorted[now - 1] == wanted->value, "and no other");
}

static void take_one_ingress(const struct match_result *result)
{
	const struct match_ingress *frame = &result->ingress;
	struct wanted wanted[4] = {0};
	bool cold = is_cold(results.first_ingress_ns, frame->ts_ns);
	bool pair_cold = cold || model.is_cold;
	bool is_matched = frame->class == MATCH_MATCHED;
	int64_t latency_ns = is_matched ? span((__int128)frame->egress_ts_ns - frame->ts_ns) : 0;

	if (is_matched || frame->class == MATCH_LOST) {
		if (model.is_any && model.pos + 1 == frame->pos)
			wanted[0] = want(pair_cold, CAPTURE_INTER_DEPARTURE,
				(__int128)frame->ts_ns - model.sent_ns);
		if (is_matched)
			wanted[1] = want(cold, CAPTURE_LATENCY, latency_ns);
		if (is_matched && model.is_matched && model.pos + 1 == frame->pos) {
			__int128 ipdv = (__int128)latency_ns - model.latency_ns;
			wanted[2] = want(pair_cold, CAPTURE_IPDV, ipdv);
			wanted[3] = want(pair_cold, CAPTURE_JITTER, ipdv < 0 ? -ipdv : ipdv);
		}
		model.pos = frame->pos;
		model.sent_ns = frame->ts_ns;
		model.latency_ns = latency_ns;
		model.is_any = true;
		model.is_matched = is_matched;
		model.is_cold = cold;
		model.n_matched += is_matched;
	}
	match_results_take(&results, result, 1);
	for (int i = 0; i < 4; i++)
		check(&wanted[i]);
}

static void take_one_egress(const struct match_result *result)
{
	const struct match_egress *frame = &result->egress;
	struct arrival arrival = {.ts_ns = frame->ts_ns,
		.ingress_pos = frame->ingress_pos,
		.is_cold = is_cold(results.first_ingress_ns, frame->ingress_ts_ns)};
	size_t at = model.n_arrivals;

	match_results_take(&results, result, 1);
	if (frame->class != MATCH_MATCHED)
		return;
	if (model.n_arrivals++ >= MAX_ARRIVALS)
		return;
	for (; at > 0 && arrival_is_before(&arrival, &model.arrivals[at - 1]); at--)
		model.arrivals[at] = model.arrivals[at - 1];
	model.arrivals[at] = arrival;
}

static void take_all(struct match *match)
{
	struct match_result result;

	while (match_take(match, &result, 1) == 1) {
		if (result.is_ingress)
			take_one_ingress(&result);
		else
			take_one_egress(&result);
	}
}

// Arrivals are counted at the end: each distance once, however many are alike.
static void check_arrivals(void)
{
	static struct wanted wanted[MAX_ARRIVALS];
	bool is_checked = model.n_arrivals <= MAX_ARRIVALS;

	for (size_t i = 1; is_checked && i < model.n_arrivals; i++) {
		const struct arrival *at = &model.arrivals[i];
		wanted[i] = want(at->is_cold || at[-1].is_cold, CAPTURE_INTER_ARRIVAL,
			(__int128)at->ts_ns - at[-1].ts_ns);
	}
	must(arrival_order_end(&results.arrivals) == 0, "memory");
	for (size_t i = 1; is_checked && i < model.n_arrivals; i++) {
		uint64_t n = 0;
		for (size_t j = 1; j < model.n_arrivals; j++)
			n += wanted[j].counts == wanted[i].counts &&
			     wanted[j].value == wanted[i].value;
		if (is_dense(wanted[i].value))
			must(seen(wanted[i].counts, wanted[i].value) == wanted[i].before + n,
				"the distance was counted");
	}
}

// Not worth learning from: it would be most of what the fuzzer looks at.
__attribute__((no_sanitize("coverage"))) static void check_envelope(void)
{
	const struct envelope *envelope = &results.envelope;
	uint64_t n = 0;

	must(envelope->n <= ENVELOPE_BINS, "the envelope fits its bins");
	for (uint32_t i = 0; i < ENVELOPE_BINS; i++) {
		int64_t at_ns = envelope->bins[i].at_ns > 0 ? envelope->bins[i].at_ns : 0;
		if (envelope->bins[i].n > 0)
			must(i < envelope->n && at_ns / envelope->width_ns == i,
				"a packet is in its bin");
		n += envelope->bins[i].n;
	}
	must(n == model.n_matched, "every matched packet is in the envelope");
}

static void remove_files(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/packets.bin", folder);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/histograms.bin", folder);
	(void)unlink(path);
	(void)rmdir(folder);
}

// The counts outlive an input: to begin with empty ones each time would cost all the time there is.
static void begin(int64_t skip_ns, unsigned n_widened)
{
	if (n_inputs == 0) {
		results.packets.fd = -1;
		must(mkdtemp(folder) != NULL, "a folder");
		(void)atexit(remove_files);
	}
	if (n_inputs++ % INPUTS_A_FILE == 0) {
		if (n_inputs > 1)
			must(match_results_finish(&results) == 0, "the results are written");
		match_results_fini(&results);
		must(match_results_init(&results, folder, 1, true) == 0, "memory");
	}
	results.skip_ns = skip_ns > 0 ? skip_ns : INT64_MIN;
	results.first_ingress_ns = results.first_egress_ns = 0;
	memset(&results.envelope, 0, sizeof(results.envelope));
	results.envelope.width_ns = (int64_t)WIDTH_NS << n_widened;
	memset(&results.previous, 0, sizeof(results.previous));
	results.has_arrival = false;
	memset(&model, 0, sizeof(model));
}

// The next time stamp: a step, or anywhere.
static int64_t next_time(const uint8_t **at, const uint8_t *end, uint8_t form, int64_t last_ns)
{
	uint8_t bytes[8] = {0};
	size_t len = form == 0 ? 1 : form == 1 ? 2 : 8;
	int16_t step;
	int64_t ns;

	if (len > (size_t)(end - *at))
		len = (size_t)(end - *at);
	memcpy(bytes, *at, len);
	*at += len;
	memcpy(&step, bytes, sizeof(step));
	memcpy(&ns, bytes, sizeof(ns));
	if (form < 2)
		return clamped((__int128)last_ns + (form == 0 ? bytes[0] : step));
	return form == 2 ? ns : ns < 0 ? INT64_MIN : INT64_MAX;
}

static void feed(struct match *match, const uint8_t *at, const uint8_t *end)
{
	int64_t last_ns = 0, clock_ns = INT64_MIN;
	bool has_begun[2] = {false, false};

	while (at < end) {
		_Alignas(8) uint8_t key[STRIDE] = {0};
		uint8_t choice = *at++;
		bool is_egress = choice & 1;
		last_ns = next_time(&at, end, choice >> 4 & 3, last_ns);
		if (last_ns > clock_ns)
			clock_ns = last_ns;
		if (!has_begun[is_egress])
			*(is_egress ? &results.first_egress_ns : &results.first_ingress_ns) =
				last_ns;
		has_begun[is_egress] = true;
		key[0] = choice >> 1 & 7;
		key[STRIDE - 4] = 1;
		struct match_frame frame = {.ts_ns = last_ns,
			.clock_ns = clock_ns,
			.key = key[0] == 0 ? NULL : key,
			.hash = is_egress ? 0 : key_hash(key, STRIDE, 0),
			.frame_len = choice};
		must((is_egress ? match_feed_egress(match, &frame)
				: match_feed_ingress(match, &frame)) == 0,
			"memory");
		take_all(match);
	}
	match_end(match);
	take_all(match);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct match *match;

	if (len < 1)
		return 0;
	// Bins that double from a millisecond on each time would take most of the time.
	begin(skips_ns[data[0] >> 2 & 3], 2 * (data[0] >> 4));
	struct match_config config = {.key_stride = STRIDE, .window_ns = windows_ns[data[0] & 3]};
	must(match_create(&config, &match) == 0, "memory");
	feed(match, data + 1, data + len);
	match_destroy(match);
	check_arrivals();
	check_envelope();
	return 0;
}
