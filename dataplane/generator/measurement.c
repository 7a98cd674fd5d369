#include "measurement.h"

enum { OVERDUE_STEPS = 16 };

// A record's place if it is to be kept. service_ticks is 0 for what did not come back in time.
static inline struct packet_record *record_slot(
	struct measurement *m, uint16_t flags, uint64_t service_ticks)
{
	if (m->mode == RECORD_MODE_NONE)
		return NULL;
	if (m->mode == RECORD_MODE_TAIL && service_ticks > 0) {
		// Asked first: the threshold has to see every latency.
		bool is_slow = tail_threshold_exceeded(&m->tail, service_ticks);
		if (!is_slow && (flags & m->odd_flags) == 0)
			return NULL;
	}
	return record_writer_slot(m->writer);
}

// Counters and record that every departure gets once: when it is matched, lost or refused.
static inline void conclude(struct measurement *m, uint64_t seq,
	const struct in_flight_entry *entry, uint64_t received_tsc, uint32_t arrival_window,
	uint16_t flags)
{
	uint64_t is_void = (flags & PACKET_VOID) != 0;
	uint64_t is_cold = (flags & PACKET_COLD) != 0;
	uint64_t service_ticks = received_tsc != 0 ? received_tsc - entry->sent_tsc : 0;

	m->counters.void_ += is_void;
	m->counters.cold += is_cold;
	m->counters.void_cold += is_void & is_cold;
	struct packet_record *record = record_slot(m, flags, service_ticks);
	if (record == NULL)
		return;
	*record = (struct packet_record){
		.seq = seq,
		.due_tsc = entry->due_tsc,
		.sent_tsc = entry->sent_tsc,
		.received_tsc = received_tsc,
		.arrival_window = arrival_window,
		.flow = entry->flow,
		.frame_len = entry->frame_len,
		.flags = flags,
		.direction = m->direction,
	};
}

static inline uint16_t flags_of(const struct in_flight_entry *entry)
{
	uint16_t flags = 0;

	if (entry->flags & IN_FLIGHT_VOID)
		flags |= PACKET_VOID;
	if (entry->flags & IN_FLIGHT_COLD)
		flags |= PACKET_COLD;
	return flags;
}

static inline struct histogram *series_of(struct measurement *m, uint16_t flags)
{
	return m->histograms[(flags & PACKET_COLD) != 0][(flags & PACKET_VOID) != 0];
}

// Both series of a departure count every sent packet, when its fate and thus its flags are known;
// between two sent packets with one that was refused between them there is no distance.
static inline void record_departure(struct histogram *series, const struct in_flight_entry *entry)
{
	histogram_record(&series[SERIES_DEPARTURE_ERROR], entry->sent_tsc - entry->due_tsc);
	if ((entry->flags & IN_FLIGHT_FIRST) == 0)
		histogram_record(&series[SERIES_INTER_DEPARTURE], entry->inter_departure_ticks);
}

// Void as well where it can have found a receive ring full behind a gap: the port lost it then, or
// the device had nowhere to put it. Other gaps lose nothing: what they let wait is received.
static void conclude_lost(struct measurement *m, uint64_t seq, struct in_flight_entry *entry)
{
	uint16_t flags = flags_of(entry);

	if (gap_watch_was_full(m->gaps, entry->sent_tsc))
		flags |= PACKET_VOID;
	m->counters.lost++;
	m->counters.lost_cold += (flags & PACKET_COLD) != 0;
	m->counters.lost_void += (flags & (PACKET_COLD | PACKET_VOID)) == PACKET_VOID;
	record_departure(series_of(m, flags), entry);
	conclude(m, seq, entry, 0, 0, flags);
}

// The ring has come round to it, or its deadline is over. Its flow is given up only if it has sent
// more since.
static void conclude_missing(struct measurement *m, uint64_t seq, struct in_flight_entry *entry)
{
	struct flow_state *flow = &m->flows[entry->flow];

	if (flow->next_expected <= seq && seq + m->n_flows < m->in_flight.next_seq)
		backlog_give_up(&m->backlog, &flow->backlog);
	conclude_lost(m, seq, entry);
}

void measurement_sent(struct measurement *m, const struct sent_packet *packet)
{
	struct in_flight_entry *entry = in_flight_next(&m->in_flight);
	uint64_t seq = m->in_flight.next_seq;

	if (__builtin_expect(entry->state == IN_FLIGHT_SENT, 0))
		conclude_missing(m, seq - m->in_flight.mask - 1, entry);
	m->in_flight.next_seq = seq + 1;
	entry->due_tsc = packet->due_tsc;
	entry->sent_tsc = packet->sent_tsc;
	entry->flow = packet->flow;
	entry->frame_len = packet->frame_len;
	entry->flags = packet->flags;
	// A gap between due and the return of the transmit call: sent late, or stuck in the call.
	if (__builtin_expect(gap_watch_since(m->gaps, packet->due_tsc), 0))
		entry->flags |= IN_FLIGHT_VOID;
	m->counters.due++;

	if (__builtin_expect(packet->sent_tsc == 0, 0)) {
		entry->state = IN_FLIGHT_UNSENT;
		entry->inter_departure_ticks = 0;
		m->before_sent_tsc = 0;
		if (backlog_is_ahead(&m->backlog, packet->due_tsc))
			entry->flags |= IN_FLIGHT_VOID;
		m->counters.unsent++;
		m->counters.unsent_cold += (entry->flags & IN_FLIGHT_COLD) != 0;
		conclude(m, seq, entry, 0, 0, flags_of(entry) | PACKET_UNSENT);
		return;
	}
	if ((entry->flags & IN_FLIGHT_VOID) != 0)
		m->void_sent_tsc = packet->sent_tsc;
	if (__builtin_expect((packet->flags & IN_FLIGHT_VOID) != 0, 0))
		backlog_sent(&m->backlog, &m->flows[packet->flow].backlog, seq, packet->sent_tsc,
			packet->sent_tsc - packet->due_tsc, m->quantum_ticks);
	else if (backlog_joined(
			 &m->backlog, &m->flows[packet->flow].backlog, seq, packet->sent_tsc))
		entry->flags |= IN_FLIGHT_VOID;
	entry->state = IN_FLIGHT_SENT;
	entry->inter_departure_ticks = packet->sent_tsc - m->before_sent_tsc;
	if (__builtin_expect(m->before_sent_tsc == 0, 0))
		entry->flags |= IN_FLIGHT_FIRST;
	m->before_sent_tsc = packet->sent_tsc;
	m->last_sent_tsc = packet->sent_tsc;
	m->counters.sent++;
	m->counters.sent_late += packet->sent_tsc - packet->due_tsc > m->quantum_ticks;
}

static inline void record_jitter(struct measurement *m, uint64_t latency_ticks,
	uint64_t other_latency_ticks, bool is_cold, bool is_void)
{
	uint64_t jitter_ticks = latency_ticks > other_latency_ticks
					? latency_ticks - other_latency_ticks
					: other_latency_ticks - latency_ticks;

	histogram_record(&m->histograms[is_cold][is_void][SERIES_JITTER], jitter_ticks);
}

// What comes out of order may have come after both its neighbours in its flow, the packet before
// it and the one behind it. Exact while the ring knows them. Rare, so it may cost a cache miss.
static void follow_reordered(
	struct measurement *m, uint64_t seq, uint64_t latency_ticks, bool is_cold, bool is_void)
{
	// Below 0 wraps to a number that was never sent.
	const uint64_t neighbours[] = {seq - m->n_flows, seq + m->n_flows};

	for (int i = 0; i < 2; i++) {
		struct in_flight_entry *other;
		if (in_flight_find(&m->in_flight, neighbours[i], &other) != IN_FLIGHT_FOUND ||
			other->state != IN_FLIGHT_RECEIVED)
			continue;
		record_jitter(m, latency_ticks, other->latency_ticks,
			is_cold || (other->flags & IN_FLIGHT_COLD) != 0,
			is_void || (other->flags & IN_FLIGHT_VOID) != 0);
	}
}

// RFC 4737 order and jitter as |IPDV|: between packets sent one after the other in a flow, in
// whatever order they came; void or cold when either packet is.
static inline uint16_t follow_flow(struct measurement *m, uint64_t seq, uint32_t flow_index,
	uint64_t latency_ticks, uint16_t flags)
{
	struct flow_state *flow = &m->flows[flow_index];
	uint8_t is_void = (flags & PACKET_VOID) != 0;
	uint8_t is_cold = (flags & PACKET_COLD) != 0;

	backlog_received(&m->backlog, &flow->backlog, seq);
	if (__builtin_expect(seq < flow->next_expected, 0)) {
		m->counters.out_of_sequence++;
		follow_reordered(m, seq, latency_ticks, is_cold, is_void);
		return PACKET_OUT_OF_SEQUENCE;
	}
	if (seq == flow->next_expected && flow->has_last)
		record_jitter(m, latency_ticks, flow->last_latency_ticks, is_cold | flow->last_cold,
			is_void | flow->last_void);
	flow->next_expected = seq + m->n_flows;
	flow->last_latency_ticks = latency_ticks;
	flow->has_last = 1;
	flow->last_void = is_void;
	flow->last_cold = is_cold;
	return 0;
}

// Whether the device may have waited for the generator: to send what fills a batch, which a gap
// delayed, or to empty a full ring.
static inline bool was_waited_for(const struct measurement *m, const struct in_flight_entry *entry)
{
	return (m->device_holds && entry->sent_tsc < m->void_sent_tsc) ||
	       entry->sent_tsc < m->gaps->full_ring_tsc;
}

// A gap that ended before the arrival window began was over while the packet was still in the
// device: it cannot have changed the latency, however long the flight. Unless the device waited.
static inline bool is_void_on_arrival(const struct measurement *m,
	const struct in_flight_entry *entry, const struct received_packet *packet)
{
	return gap_watch_since(m->gaps, packet->received_tsc - packet->arrival_window) ||
	       was_waited_for(m, entry);
}

static inline void conclude_matched(
	struct measurement *m, struct in_flight_entry *entry, const struct received_packet *packet)
{
	uint64_t service_ticks = packet->received_tsc - entry->sent_tsc;
	uint16_t flags = flags_of(entry);

	if (is_void_on_arrival(m, entry, packet))
		flags |= PACKET_VOID;
	entry->state = IN_FLIGHT_RECEIVED;
	m->counters.matched++;

	struct histogram *series = series_of(m, flags);
	histogram_record(&series[SERIES_SERVICE], service_ticks);
	histogram_record(&series[SERIES_INTENT], packet->received_tsc - entry->due_tsc);
	histogram_record(&series[SERIES_ARRIVAL_WINDOW], packet->arrival_window);
	record_departure(series, entry);
	// For the neighbours of its flow that are still to come.
	entry->latency_ticks = service_ticks;
	entry->flags |= flags & PACKET_VOID ? IN_FLIGHT_VOID : 0;
	flags |= follow_flow(m, packet->seq, entry->flow, service_ticks, flags);
	conclude(m, packet->seq, entry, packet->received_tsc, packet->arrival_window, flags);
}

// One more record for a packet that has its own already, or is not ours.
static void record_odd(struct measurement *m, const struct received_packet *packet,
	uint64_t due_tsc, uint64_t sent_tsc, uint16_t flags)
{
	struct packet_record *record = record_slot(m, flags, 0);

	if (record == NULL)
		return;
	*record = (struct packet_record){
		.seq = packet->seq,
		.due_tsc = due_tsc,
		.sent_tsc = sent_tsc,
		.received_tsc = packet->received_tsc,
		.arrival_window = packet->arrival_window,
		.flow = packet->flow,
		.frame_len = packet->frame_len,
		.flags = flags,
		.direction = m->direction,
	};
}

// The ring reaches back further than the deadline.
static void conclude_late(
	struct measurement *m, struct in_flight_entry *entry, const struct received_packet *packet)
{
	if (is_void_on_arrival(m, entry, packet))
		entry->flags |= IN_FLIGHT_VOID;
	conclude_lost(m, packet->seq, entry);
	entry->state = IN_FLIGHT_LOST;
	m->counters.late++;
	record_odd(m, packet, packet->due_tsc, 0, PACKET_LATE);
}

void measurement_received(struct measurement *m, const struct received_packet *packet)
{
	struct in_flight_entry *entry = NULL;
	enum in_flight_find found = IN_FLIGHT_NEVER_SENT;

	m->counters.received++;
	if (packet->is_ours)
		found = in_flight_find(&m->in_flight, packet->seq, &entry);
	if (__builtin_expect(found == IN_FLIGHT_FOUND && entry->state == IN_FLIGHT_SENT, 1)) {
		if (__builtin_expect(
			    packet->received_tsc - entry->sent_tsc <= m->deadline_ticks, 1))
			conclude_matched(m, entry, packet);
		else
			conclude_late(m, entry, packet);
	} else if (found == IN_FLIGHT_FOUND && entry->state == IN_FLIGHT_RECEIVED) {
		m->counters.duplicates++;
		record_odd(m, packet, entry->due_tsc, entry->sent_tsc, PACKET_DUPLICATE);
	} else if (found == IN_FLIGHT_TOO_LATE ||
		   (found == IN_FLIGHT_FOUND && entry->state == IN_FLIGHT_LOST)) {
		m->counters.late++;
		record_odd(m, packet, packet->due_tsc, 0, PACKET_LATE);
	} else {
		m->counters.orphans++;
		// When its frame says it was due is a time of another run, or damaged.
		record_odd(m, packet, 0, 0, PACKET_ORPHAN);
	}
}

// What stood in the port behind a gap was received before: in time, or late and void. What the
// device may have held back because of the generator is left to the ring: should it come, it is
// void.
void measurement_conclude_overdue(struct measurement *m, uint64_t seen_tsc)
{
	uint64_t capacity = m->in_flight.mask + 1;

	if (m->in_flight.next_seq - m->overdue_seq > capacity)
		m->overdue_seq = m->in_flight.next_seq - capacity;
	// A few at a time, the others behind the next polls: no departure is to wait for it.
	for (int i = 0; i < OVERDUE_STEPS; i++, m->overdue_seq++) {
		if (m->overdue_seq == m->in_flight.next_seq) {
			// Of what is sent from now on.
			m->overdue_tsc = seen_tsc + m->deadline_ticks;
			return;
		}
		struct in_flight_entry *entry =
			&m->in_flight.entries[m->overdue_seq & m->in_flight.mask];
		if (entry->state != IN_FLIGHT_SENT)
			continue;
		if (seen_tsc <= entry->sent_tsc + m->deadline_ticks) {
			m->overdue_tsc = entry->sent_tsc + m->deadline_ticks;
			return;
		}
		if (was_waited_for(m, entry))
			continue;
		conclude_missing(m, m->overdue_seq, entry);
		entry->state = IN_FLIGHT_LOST;
	}
}

void measurement_finish(struct measurement *m, uint64_t end_tsc)
{
	uint64_t capacity = m->in_flight.mask + 1;
	uint64_t next = m->in_flight.next_seq;

	for (uint64_t seq = next > capacity ? next - capacity : 0; seq < next; seq++) {
		struct in_flight_entry *entry = &m->in_flight.entries[seq & m->in_flight.mask];
		if (entry->state != IN_FLIGHT_SENT)
			continue;
		if (end_tsc - entry->sent_tsc < m->deadline_ticks)
			entry->flags |= IN_FLIGHT_VOID;
		// Of a device that died there are more than the ring may hold.
		if (m->writer != NULL)
			record_writer_make_room(m->writer);
		conclude_lost(m, seq, entry);
		entry->state = IN_FLIGHT_EMPTY;
	}
}
