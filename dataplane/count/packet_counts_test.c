// Every series equals the one that a loop over all pairs of packets counts by its definition.

#include "count_test_env.h"
#include "packet_counts.h"

#include <errno.h>

enum { N = 300, N_FLOWS = 3, N_WORST = 40 };

static const int64_t no = NO_TIME;

// A trial in which everything occurs; written in any order of numbers.
struct made {
	struct packet packets[N];
};

static void make(struct made *made, uint64_t seed)
{
	uint64_t next_seq[2] = {0, 0};
	uint64_t state = seed;

	memset(made, 0, sizeof(*made));
	for (int i = 0; i < N; i++) {
		struct packet *packet = &made->packets[i];
		uint64_t fate = random_below(&state, 12);
		packet->direction = (uint8_t)random_below(&state, 2);
		next_seq[packet->direction] += random_below(&state, 20) == 0 ? 2 : 1;
		packet->seq = next_seq[packet->direction];
		packet->due_ns = fate == 0 ? no : 100 * i;
		packet->sent_ns = fate == 1 ? no : 100 * i + (int64_t)random_below(&state, 9);
		packet->received_ns = no;
		packet->arrival_window_ns = (int64_t)random_below(&state, 5);
		packet->flags =
			(uint16_t)((random_below(&state, 5) == 0 ? PACKET_VOID : 0) |
				   (i < 40 ? PACKET_COLD : 0) | (fate == 1 ? PACKET_UNSENT : 0));
		if (fate > 2)
			packet->received_ns =
				packet->sent_ns + (int64_t)random_below(&state, 700) - 20;
	}
	for (int i = 0; i < N - 20; i++) {
		int to = i + (int)random_below(&state, 20);
		struct packet packet = made->packets[i];
		made->packets[i] = made->packets[to];
		made->packets[to] = packet;
	}
}

// The packet before another one in a direction, by number or by receipt; NULL: none.
static const struct packet *before(
	const struct made *made, const struct packet *packet, bool by_seq)
{
	const struct packet *found = NULL;

	for (int i = 0; i < N; i++) {
		const struct packet *other = &made->packets[i];
		bool is_before = by_seq ? other->seq < packet->seq
					: other->received_ns < packet->received_ns ||
						  (other->received_ns == packet->received_ns &&
							  other->seq < packet->seq);
		bool is_later = found == NULL ||
				(by_seq ? other->seq > found->seq
					: other->received_ns > found->received_ns ||
							(other->received_ns == found->received_ns &&
								other->seq > found->seq));
		if (other->direction == packet->direction && is_before && is_later &&
			(by_seq || other->received_ns != no))
			found = other;
	}
	return found;
}

// The packet one number before; NULL: there is none.
static const struct packet *one_before(const struct made *made, const struct packet *packet)
{
	const struct packet *found = before(made, packet, true);

	return found != NULL && found->seq + 1 == packet->seq ? found : NULL;
}

// The packet N_FLOWS numbers before, if all between were due; NULL: none.
static const struct packet *in_flow(const struct made *made, const struct packet *packet)
{
	const struct packet *at = packet;

	for (int i = 0; i < N_FLOWS && at != NULL; i++)
		at = one_before(made, at);
	return at;
}

static int64_t difference(int64_t later_ns, int64_t earlier_ns)
{
	return later_ns == no || earlier_ns == no ? no : later_ns - earlier_ns;
}

// The value of a series that a packet has, and the one beside it whose flags count too; false:
// none.
static bool value_of(const struct made *made, enum histogram_series series,
	const struct packet *packet, const struct packet **beside, int64_t *value)
{
	bool is_received = packet->received_ns != no;
	const struct packet *other = packet;

	if (series == SERIES_INTER_DEPARTURE)
		other = one_before(made, packet);
	else if (series == SERIES_INTER_ARRIVAL)
		other = is_received ? before(made, packet, false) : NULL;
	else if (series == SERIES_JITTER || series == SERIES_IPDV)
		other = is_received ? in_flow(made, packet) : NULL;
	*beside = other;
	if (other == NULL)
		return false;
	int64_t latency_ns = difference(packet->received_ns, packet->sent_ns);
	int64_t other_latency_ns = difference(other->received_ns, other->sent_ns);
	switch (series) {
	case SERIES_SERVICE:
		*value = latency_ns;
		break;
	case SERIES_INTENT:
		*value = difference(packet->received_ns, packet->due_ns);
		break;
	case SERIES_DEPARTURE_ERROR:
		*value = difference(packet->sent_ns, packet->due_ns);
		break;
	case SERIES_ARRIVAL_WINDOW:
		*value = is_received ? packet->arrival_window_ns : no;
		break;
	case SERIES_INTER_DEPARTURE:
		*value = difference(packet->sent_ns, other->sent_ns);
		break;
	case SERIES_INTER_ARRIVAL:
		*value = difference(packet->received_ns, other->received_ns);
		break;
	case SERIES_IPDV:
		*value = difference(latency_ns, other_latency_ns);
		break;
	case SERIES_JITTER:
		*value = difference(latency_ns, other_latency_ns);
		*value = *value == no ? no : llabs(*value);
		break;
	default:
		return false;
	}
	return *value != no;
}

struct wanted {
	const struct made *made;
	enum histogram_series series;
	uint8_t direction;
	uint16_t flags; // PACKET_VOID and PACKET_COLD, as they must be
	uint64_t n_seen;
};

static uint64_t n_of(const struct wanted *wanted, bool is_any, int64_t value)
{
	uint64_t n = 0;

	for (int i = 0; i < N; i++) {
		const struct packet *packet = &wanted->made->packets[i];
		const struct packet *beside;
		int64_t own;
		if (packet->direction != wanted->direction ||
			!value_of(wanted->made, wanted->series, packet, &beside, &own))
			continue;
		uint16_t flags = (packet->flags | beside->flags) & (PACKET_VOID | PACKET_COLD);
		n += flags == wanted->flags && (is_any || own == value);
	}
	return n;
}

static int check_value(void *context, const struct value_count *count)
{
	struct wanted *wanted = context;

	assert_int_equal(count->n, n_of(wanted, false, count->value));
	wanted->n_seen += count->n;
	return 0;
}

static struct packet_counts *counted(const struct made *made, struct error *error)
{
	const struct packet_counts_config config = {N_FLOWS, N_WORST};
	const struct packet_batch batch = {made->packets, N};
	struct packet_counts *counts;

	assert_int_equal(packet_counts_create(&config, &counts), 0);
	assert_int_equal(packet_counts_add(counts, &batch, error), 0);
	assert_int_equal(packet_counts_add_in_turn(counts, &batch, error), 0);
	assert_int_equal(packet_counts_end(counts, error), 0);
	return counts;
}

static void test_every_series_is_as_it_is_defined(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct made made;
		struct error error;
		make(&made, seed);
		struct packet_counts *counts = counted(&made, &error);
		for (unsigned int i = 0; i < 8 * N_SERIES; i++) {
			struct wanted wanted = {
				.made = &made,
				.series = i / 8,
				.direction = i & 1,
				.flags = (uint16_t)((i & 2 ? PACKET_VOID : 0) |
						    (i & 4 ? PACKET_COLD : 0)),
			};
			const struct value_counts *values = packet_counts_values(
				counts, wanted.series, wanted.direction, i & 2, i & 4);
			if (values != NULL)
				assert_int_equal(
					value_counts_each(values, check_value, &wanted), 0);
			assert_int_equal(wanted.n_seen, n_of(&wanted, true, 0));
		}
		packet_counts_destroy(counts);
	}
}

static int compare_latencies(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	return (*y > *x) - (*y < *x);
}

static void test_the_slowest_are_kept(void **state)
{
	const struct packet *worst;
	int64_t latencies_ns[N];
	struct made made;
	struct error error;
	size_t n = 0;

	make(&made, 9);
	for (int i = 0; i < N; i++)
		if (made.packets[i].received_ns != no && !(made.packets[i].flags & PACKET_COLD))
			latencies_ns[n++] = made.packets[i].received_ns - made.packets[i].sent_ns;
	qsort(latencies_ns, n, sizeof(latencies_ns[0]), compare_latencies);
	struct packet_counts *counts = counted(&made, &error);
	assert_int_equal(worst_packets_end(packet_counts_worst(counts), &worst), N_WORST);
	for (int k = 0; k < N_WORST; k++)
		for (int i = 0; i < N; i++)
			if (made.packets[i].seq == worst[k].seq &&
				made.packets[i].direction == worst[k].direction)
				assert_int_equal(
					made.packets[i].received_ns - made.packets[i].sent_ns,
					latencies_ns[k]);
	packet_counts_destroy(counts);
}

static void test_each_record_has_its_counters(void **state)
{
	const struct packet packets[] = {
		{0, 0, 1, 5, 1, PACKET_COLD, 0},
		{1, 10, 11, no, 0, PACKET_VOID, 0},
		{2, 20, no, no, 0, PACKET_UNSENT, 0},
		{3, 30, 31, 35, 1, PACKET_VOID | PACKET_OUT_OF_SEQUENCE, 0},
		{3, 30, 31, 99, 0, PACKET_DUPLICATE, 0}, // stamped as its packet
		{1, 10, no, 99, 0, PACKET_LATE, 0},
		{77, no, no, 99, 0, PACKET_ORPHAN | PACKET_COLD, 1},
	};
	const struct packet_counts_config config = {1, 1};
	const struct packet_batch batch = {packets, 7};
	const uint64_t expected[N_PACKET_COUNTERS] = {3, 2, 1, 1, 1, 2, 1, 1};
	struct packet_counts *counts;
	struct error error;

	assert_int_equal(packet_counts_create(&config, &counts), 0);
	assert_int_equal(packet_counts_add(counts, &batch, &error), 0);
	assert_int_equal(packet_counts_add_in_turn(counts, &batch, &error), 0);
	assert_int_equal(packet_counts_end(counts, &error), 0);
	const struct group_counts *group = packet_counts_group(counts, 0, false);
	assert_memory_equal(group->packets, expected, sizeof(expected));
	assert_int_equal(group->n_extra, 2);
	assert_int_equal(group->extra[COUNT_LATE], 1);
	assert_int_equal(group->extra[COUNT_DUPLICATES], 1);
	assert_int_equal(packet_counts_group(counts, 0, true)->packets[COUNT_MATCHED], 1);
	assert_int_equal(packet_counts_group(counts, 1, true)->extra[COUNT_ORPHANS], 1);
	packet_counts_destroy(counts);
}

static void check_refused(struct packet packet)
{
	const struct packet_counts_config config = {1, 1};
	const struct packet_batch batch = {&packet, 1};
	struct packet_counts *counts;
	struct error error;

	assert_int_equal(packet_counts_create(&config, &counts), 0);
	assert_true(packet_counts_add(counts, &batch, &error) == -ERANGE ||
		    packet_counts_add_in_turn(counts, &batch, &error) == -ERANGE);
	packet_counts_destroy(counts);
}

static void test_what_has_no_sense_is_refused(void **state)
{
	check_refused((struct packet){0, no, no, no, 0, 0, 0});
	check_refused((struct packet){0, 1, no, 5, 0, 0, 0});
	check_refused((struct packet){0, 1, 2, 5, 0, 0, 2});
	check_refused((struct packet){0, 1, INT64_MIN + 1, INT64_MAX, 0, 0, 0});
	check_refused((struct packet){UINT64_MAX, 1, 2, 3, 0, 0, 0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_series_is_as_it_is_defined),
		cmocka_unit_test(test_the_slowest_are_kept),
		cmocka_unit_test(test_each_record_has_its_counters),
		cmocka_unit_test(test_what_has_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
