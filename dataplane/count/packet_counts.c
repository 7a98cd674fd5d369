#include "packet_counts.h"

#include "receipt_order.h"
#include "seq_order.h"
#include "series_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A packet of a flow, for the next one of it.
struct flow_packet {
	uint64_t seq;
	int64_t latency_ns; // NO_TIME: it did not come
	bool is_void, is_cold;
};

// What is counted from one packet to the next, in one direction.
struct direction {
	struct packet_counts *counts;
	uint8_t number;
	struct seq_order *by_seq;
	struct receipt_order *by_receipt;
	struct flow_packet *flows; // the last n_flows packets, next_flow the oldest
	uint64_t next_flow, n_flow_packets;
	bool has_sent, has_received; // one came before
	struct seq_packet sent;
	struct receipt received;
};

struct packet_counts {
	uint64_t n_flows;
	struct late_packets *late;
	struct direction directions[N_DIRECTIONS];
	struct group_counts groups[N_DIRECTIONS][2]; // [cold]
	struct series_values values;
	struct time_counts *by_time;
	struct worst_packets *worst;
};

static seq_order_give take_in_turn;
static receipt_order_give take_receipt;

static int create_direction(struct packet_counts *counts, uint8_t number)
{
	struct direction *direction = &counts->directions[number];

	direction->counts = counts;
	direction->number = number;
	direction->flows = calloc(counts->n_flows, sizeof(*direction->flows));
	if (direction->flows == NULL)
		return -ENOMEM;
	int err = seq_order_create(take_in_turn, direction, &direction->by_seq);
	return err < 0 ? err
		       : receipt_order_create(take_receipt, direction, &direction->by_receipt);
}

int packet_counts_create(const struct packet_counts_config *config, struct packet_counts **out)
{
	struct packet_counts *counts = calloc(1, sizeof(*counts));

	if (counts == NULL)
		return -ENOMEM;
	counts->n_flows = config->n_flows;
	counts->late = config->late;
	int err = time_counts_create(config->give_times, config->context, &counts->by_time);
	if (err == 0)
		err = worst_packets_create(config->n_worst, &counts->worst);
	for (uint8_t i = 0; err == 0 && i < N_DIRECTIONS; i++)
		err = create_direction(counts, i);
	if (err < 0)
		packet_counts_destroy(counts);
	else
		*out = counts;
	return err;
}

void packet_counts_destroy(struct packet_counts *counts)
{
	if (counts == NULL)
		return;
	for (int i = 0; i < N_DIRECTIONS; i++) {
		seq_order_destroy(counts->directions[i].by_seq);
		receipt_order_destroy(counts->directions[i].by_receipt);
		free(counts->directions[i].flows);
	}
	series_values_fini(&counts->values);
	time_counts_destroy(counts->by_time);
	worst_packets_destroy(counts->worst);
	free(counts);
}

// A packet beside the one before it, where both were sent.
static int count_departure(struct direction *direction, const struct seq_packet *packet)
{
	const struct seq_packet *before = &direction->sent;
	uint16_t flags = packet->flags | before->flags;
	int err = 0;

	if (direction->has_sent && before->seq + 1 == packet->seq && before->sent_ns != NO_TIME &&
		packet->sent_ns != NO_TIME)
		err = series_values_add(&direction->counts->values, SERIES_INTER_DEPARTURE,
			direction->number, flags & PACKET_VOID, flags & PACKET_COLD,
			before->sent_ns, packet->sent_ns);
	direction->sent = *packet;
	direction->has_sent = true;
	return err;
}

static int count_pair(struct direction *direction, const struct flow_packet *before,
	const struct flow_packet *packet)
{
	struct packet_counts *counts = direction->counts;
	bool is_void = before->is_void || packet->is_void;
	bool is_cold = before->is_cold || packet->is_cold;
	int64_t low_ns = before->latency_ns;
	int64_t high_ns = packet->latency_ns;
	int err = series_values_add(
		&counts->values, SERIES_IPDV, direction->number, is_void, is_cold, low_ns, high_ns);

	if (err == 0 && high_ns < low_ns)
		err = series_values_add(&counts->values, SERIES_JITTER, direction->number, is_void,
			is_cold, high_ns, low_ns);
	else if (err == 0)
		err = series_values_add(&counts->values, SERIES_JITTER, direction->number, is_void,
			is_cold, low_ns, high_ns);
	return err;
}

// A packet beside the one before it in its flow, if that one and all between were due.
static int count_in_flow(struct direction *direction, const struct seq_packet *packet)
{
	uint64_t n_flows = direction->counts->n_flows;
	struct flow_packet *oldest = &direction->flows[direction->next_flow];
	struct flow_packet next = {
		.seq = packet->seq,
		.latency_ns = NO_TIME,
		.is_void = packet->flags & PACKET_VOID,
		.is_cold = packet->flags & PACKET_COLD,
	};
	int err = 0;

	if (packet->received_ns != NO_TIME &&
		__builtin_sub_overflow(packet->received_ns, packet->sent_ns, &next.latency_ns))
		return -ERANGE;
	if (direction->n_flow_packets >= n_flows && oldest->seq + n_flows == packet->seq &&
		oldest->latency_ns != NO_TIME && next.latency_ns != NO_TIME)
		err = count_pair(direction, oldest, &next);
	*oldest = next;
	direction->n_flow_packets++;
	if (++direction->next_flow == n_flows)
		direction->next_flow = 0;
	return err;
}

static int take_in_turn(void *context, const struct seq_packet *packet)
{
	struct direction *direction = context;
	struct late_packets *late = direction->counts->late;
	int err = count_departure(direction, packet);

	if (err == 0)
		err = count_in_flow(direction, packet);
	if (err == 0 && late != NULL)
		err = late_packets_add(late, direction->number, packet);
	return err;
}

static int take_receipt(void *context, const struct receipt *receipt)
{
	struct direction *direction = context;
	const struct receipt *before = &direction->received;
	int err = 0;

	if (direction->has_received)
		err = series_values_add(&direction->counts->values, SERIES_INTER_ARRIVAL,
			direction->number, before->is_void || receipt->is_void,
			before->is_cold || receipt->is_cold, before->received_ns,
			receipt->received_ns);
	direction->received = *receipt;
	direction->has_received = true;
	return err;
}

const char *packet_refusal(const struct packet *packet)
{
	if (packet->sent_ns == NO_TIME && packet->due_ns == NO_TIME)
		return "a packet that was neither due nor sent";
	if (packet->sent_ns == NO_TIME && packet->received_ns != NO_TIME)
		return "a packet that was received and not sent";
	return NULL;
}

// What one packet says by itself.
static void count_fate(struct group_counts *group, const struct packet *packet)
{
	bool is_sent = packet->sent_ns != NO_TIME;
	bool is_received = packet->received_ns != NO_TIME;
	bool is_void = packet->flags & PACKET_VOID;
	uint64_t *n = group->packets;

	n[COUNT_DUE]++;
	n[COUNT_SENT] += is_sent;
	n[COUNT_UNSENT] += (packet->flags & PACKET_UNSENT) != 0;
	n[COUNT_MATCHED] += is_received;
	n[COUNT_LOST] += is_sent && !is_received;
	n[COUNT_VOID] += is_void;
	n[COUNT_VOID_MATCHED] += is_void && is_received;
	n[COUNT_OUT_OF_SEQUENCE] += (packet->flags & PACKET_OUT_OF_SEQUENCE) != 0;
}

static int count_received(struct packet_counts *counts, const struct packet *packet)
{
	uint8_t direction = packet->direction;
	bool is_void = packet->flags & PACKET_VOID;
	bool is_cold = packet->flags & PACKET_COLD;
	int err = series_values_add(&counts->values, SERIES_SERVICE, direction, is_void, is_cold,
		packet->sent_ns, packet->received_ns);

	if (err == 0 && packet->due_ns != NO_TIME)
		err = series_values_add(&counts->values, SERIES_INTENT, direction, is_void, is_cold,
			packet->due_ns, packet->received_ns);
	if (err == 0)
		err = series_values_add(&counts->values, SERIES_ARRIVAL_WINDOW, direction, is_void,
			is_cold, 0, packet->arrival_window_ns);
	if (err == 0 && !is_cold) {
		int64_t latency_ns = packet->received_ns - packet->sent_ns;
		worst_packets_add(counts->worst, latency_ns, packet);
		err = time_counts_add(
			counts->by_time, packet->sent_ns, latency_ns, direction, is_void);
	}
	return err;
}

static int count_packet(struct packet_counts *counts, const struct packet *packet)
{
	bool is_cold = packet->flags & PACKET_COLD;
	int err = 0;

	if (packet_refusal(packet) != NULL)
		return -ERANGE;
	count_fate(&counts->groups[packet->direction][is_cold], packet);
	if (packet->received_ns != NO_TIME)
		err = count_received(counts, packet);
	if (err == 0 && packet->sent_ns != NO_TIME && packet->due_ns != NO_TIME)
		err = series_values_add(&counts->values, SERIES_DEPARTURE_ERROR, packet->direction,
			packet->flags & PACKET_VOID, is_cold, packet->due_ns, packet->sent_ns);
	return err;
}

static void count_extra(struct packet_counts *counts, const struct packet *packet)
{
	bool is_cold = packet->flags & PACKET_COLD;
	struct group_counts *group = &counts->groups[packet->direction][is_cold];

	group->n_extra++;
	group->extra[COUNT_LATE] += (packet->flags & PACKET_LATE) != 0;
	group->extra[COUNT_DUPLICATES] += (packet->flags & PACKET_DUPLICATE) != 0;
	group->extra[COUNT_ORPHANS] += (packet->flags & PACKET_ORPHAN) != 0;
}

static int put_in_turn(struct direction *direction, const struct packet *packet)
{
	const struct seq_packet in_turn = {
		packet->seq, packet->due_ns, packet->sent_ns, packet->received_ns, packet->flags};
	const struct receipt receipt = {packet->received_ns, packet->seq,
		packet->flags & PACKET_VOID, packet->flags & PACKET_COLD};
	int err = 0;

	if (packet->received_ns != NO_TIME)
		err = receipt_order_add(direction->by_receipt, &receipt);
	return err < 0 ? err : seq_order_add(direction->by_seq, &in_turn);
}

static int put_extra_in_turn(struct direction *direction, const struct packet *packet)
{
	// A frame before the device that no packet can be made of has a number among them.
	if ((packet->flags & (PACKET_AMBIGUOUS | PACKET_TRUNCATED)) && packet->sent_ns != NO_TIME)
		return seq_order_skip(direction->by_seq, packet->seq);
	return 0;
}

static int say(int err, const struct packet *packet, struct error *error)
{
	const char *why = packet == NULL ? NULL : packet_refusal(packet);

	if (err == -ERANGE)
		error_set(error, "records: %s: not for one pass",
			why != NULL ? why : "out of order, or times too far apart");
	else if (err < 0)
		error_set(error, "results not kept: %s", strerror(-err));
	return err;
}

int packet_counts_add(
	struct packet_counts *counts, const struct packet_batch *batch, struct error *error)
{
	for (size_t i = 0; i < batch->n; i++) {
		const struct packet *packet = &batch->packets[i];
		int err = 0;
		if (packet->direction >= N_DIRECTIONS) {
			error_set(error, "records: direction %u is not known; they are damaged",
				packet->direction);
			return -ERANGE;
		}
		if (packet->flags & EXTRA_FLAGS)
			count_extra(counts, packet);
		else
			err = count_packet(counts, packet);
		if (err < 0)
			return say(err, packet, error);
	}
	return 0;
}

int packet_counts_add_in_turn(
	struct packet_counts *counts, const struct packet_batch *batch, struct error *error)
{
	for (size_t i = 0; i < batch->n; i++) {
		const struct packet *packet = &batch->packets[i];
		int err = -ERANGE;
		if (packet->direction < N_DIRECTIONS)
			err = packet->flags & EXTRA_FLAGS
				      ? put_extra_in_turn(
						&counts->directions[packet->direction], packet)
				      : put_in_turn(&counts->directions[packet->direction], packet);
		if (err < 0)
			return say(err, packet, error);
	}
	return 0;
}

int packet_counts_end(struct packet_counts *counts, struct error *error)
{
	int err = 0;

	for (int i = 0; err == 0 && i < N_DIRECTIONS; i++) {
		err = seq_order_end(counts->directions[i].by_seq);
		if (err == 0)
			err = receipt_order_end(counts->directions[i].by_receipt);
	}
	if (err == 0)
		err = series_values_end(&counts->values);
	return say(err, NULL, error);
}

const struct group_counts *packet_counts_group(
	const struct packet_counts *counts, uint8_t direction, bool is_cold)
{
	return &counts->groups[direction][is_cold];
}

const struct value_counts *packet_counts_values(const struct packet_counts *counts,
	enum histogram_series series, uint8_t direction, bool is_void, bool is_cold)
{
	return counts->values.of[series][direction][is_void][is_cold];
}

struct time_counts *packet_counts_by_time(const struct packet_counts *counts)
{
	return counts->by_time;
}

struct worst_packets *packet_counts_worst(const struct packet_counts *counts)
{
	return counts->worst;
}
