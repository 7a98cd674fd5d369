#include "sender.h"

#include "clock.h"

enum {
	READY_MASK = SENDER_READY - 1,
};

static void add_template(struct sender *sender, uint16_t frame_len)
{
	for (uint32_t i = 0; i < sender->n_templates; i++)
		if (sender->template_lens[i] == frame_len)
			return;
	sender->template_lens[sender->n_templates] = frame_len;
	probe_template_fill(
		&sender->templates[sender->n_templates++], frame_len, sender->direction);
}

void sender_init(struct sender *sender, const struct sender_config *config)
{
	*sender = (struct sender){
		.next_tsc = UINT64_MAX,
		.port = config->port,
		.measurement = config->measurement,
		.gaps = config->gaps,
		.pacing = {.quantum_ticks = config->quantum_ticks},
		.traffic = config->traffic,
		.pool = config->pool,
		// 50 fractional bits: exact to a tick after days.
		.ticks_per_ns_q50 =
			(uint64_t)(((unsigned __int128)config->tsc_hz << 50) / NS_PER_S),
		.warm_up_ns = config->warm_up_ns,
		.end_ns = config->duration_ns == UINT64_MAX
				  ? UINT64_MAX
				  : config->warm_up_ns + config->duration_ns,
		.n_left = config->count,
		.run_id = config->run_id,
		.n_destinations = config->n_destinations,
		.direction = config->direction,
	};
	for (uint32_t i = 0; i < config->traffic->mix.n; i++)
		add_template(sender, config->traffic->mix.pattern[i]);
}

// Take the next departure from the schedule into ready. Returns false when there is none.
static inline bool next_departure(struct sender *sender, struct ready_frame *ready)
{
	struct departure departure;

	if (sender->n_left == 0)
		return false;
	traffic_next(sender->traffic, &departure);
	if (sender->built_ns + departure.gap_ns > sender->end_ns)
		return false;
	sender->built_ns += departure.gap_ns;

	uint64_t due_ticks =
		(uint64_t)(((unsigned __int128)sender->built_ns * sender->ticks_per_ns_q50) >> 50);
	// A first departure may be due at 0 ns, and there may be no warm-up.
	bool is_cold = sender->built_ns <= sender->warm_up_ns && sender->warm_up_ns > 0;
	ready->due_tsc = sender->epoch_tsc + due_ticks;
	ready->gap_ticks = due_ticks - sender->built_ticks;
	ready->flow = departure.flow;
	ready->frame_len = departure.frame_len;
	ready->flags = is_cold ? IN_FLIGHT_COLD : 0;
	sender->built_ticks = due_ticks;
	sender->n_left -= !is_cold;
	return true;
}

static inline const struct probe_template *template_of(
	const struct sender *sender, uint16_t frame_len)
{
	uint32_t i = 0;

	while (sender->template_lens[i] != frame_len)
		i++;
	return &sender->templates[i];
}

static inline void build_frame(
	struct sender *sender, const struct ready_frame *ready, struct rte_mbuf *mbuf)
{
	const struct probe probe = {
		.seq = sender->next_seq++,
		.due_ticks = ready->due_tsc - sender->epoch_tsc,
		.run_id = sender->run_id,
		.direction = sender->direction,
	};

	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	mbuf->data_len = ready->frame_len - PROBE_FCS_LEN;
	mbuf->pkt_len = mbuf->data_len;
	probe_write(frame, template_of(sender, ready->frame_len), &probe, ready->flow);
	if (sender->n_destinations == 0)
		return;
	probe_set_destination(frame, sender->next_destination);
	if (++sender->next_destination == sender->n_destinations)
		sender->next_destination = 0;
}

// Build n frames behind those that are ready; what needs a wrap is built by the next call. When
// the pool is empty (the device under test holds all buffers) fewer are built, and sent late.
static inline void build_frames(struct sender *sender, uint32_t n)
{
	uint32_t at = (sender->head + sender->n_ready) & READY_MASK;

	if (n > SENDER_READY - at)
		n = SENDER_READY - at;
	if (sender->is_complete || rte_pktmbuf_alloc_bulk(sender->pool, &sender->mbufs[at], n) != 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (__builtin_expect(!next_departure(sender, &sender->ready[at + i]), 0)) {
			sender->is_complete = true;
			rte_pktmbuf_free_bulk(&sender->mbufs[at + i], n - i);
			return;
		}
		build_frame(sender, &sender->ready[at + i], sender->mbufs[at + i]);
		sender->n_ready++;
	}
}

static inline void find_next(struct sender *sender)
{
	const struct ready_frame *first = &sender->ready[sender->head & READY_MASK];

	sender->next_tsc = sender->n_ready == 0
				   ? UINT64_MAX
				   : pacing_next(&sender->pacing, first->due_tsc, first->gap_ticks);
}

void sender_start(struct sender *sender, uint64_t epoch_tsc)
{
	sender->epoch_tsc = epoch_tsc;
	sender->pacing.effective_tsc = epoch_tsc;
	build_frames(sender, SENDER_READY);
	find_next(sender);
}

// How many of the ready frames, from the first on and without a wrap, may leave now.
static inline uint32_t take_due(struct sender *sender, uint64_t now_tsc)
{
	uint32_t first = sender->head & READY_MASK;
	uint32_t max = RTE_MIN(sender->n_ready, (uint32_t)SENDER_BURST);
	uint64_t effective_tsc = sender->next_tsc;
	uint32_t n = 0;

	max = RTE_MIN(max, SENDER_READY - first);
	do {
		pacing_sent(&sender->pacing, effective_tsc, now_tsc);
		if (++n == max)
			return n;
		const struct ready_frame *next = &sender->ready[first + n];
		effective_tsc = pacing_next(&sender->pacing, next->due_tsc, next->gap_ticks);
	} while (now_tsc >= effective_tsc);
	return n;
}

// A gap leaves a backlog; what is sent late until it is worked off is late because of the gap.
static inline uint8_t backlog_flag(struct sender *sender, uint64_t late_ticks)
{
	if (late_ticks <= sender->pacing.quantum_ticks) {
		sender->has_backlog = false;
		return 0;
	}
	return sender->has_backlog ? IN_FLIGHT_VOID : 0;
}

// Late is what was due before the loop looked (now_tsc): what takes turns with another sender, or
// stands behind others in one call, leaves later than it could without any gap.
static inline void account(
	struct sender *sender, uint32_t n, uint32_t n_accepted, uint64_t sent_tsc, uint64_t now_tsc)
{
	uint32_t first = sender->head & READY_MASK;

	if (sender->gaps->last_end_tsc != sender->seen_gap_end_tsc) {
		sender->seen_gap_end_tsc = sender->gaps->last_end_tsc;
		sender->has_backlog = true;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct ready_frame *ready = &sender->ready[first + i];
		const struct sent_packet packet = {
			.due_tsc = ready->due_tsc,
			.sent_tsc = i < n_accepted ? sent_tsc : 0,
			.flow = ready->flow,
			.frame_len = ready->frame_len,
			.flags = ready->flags | backlog_flag(sender, now_tsc - ready->due_tsc),
		};
		measurement_sent(sender->measurement, &packet);
	}
	// It ended since: what was on time then was no end of the backlog, which is still to come.
	if (__builtin_expect(sender->seen_gap_end_tsc > now_tsc, 0))
		sender->has_backlog = true;
}

static inline uint32_t send_due(struct sender *sender, uint64_t now_tsc)
{
	uint32_t n = take_due(sender, now_tsc);
	struct rte_mbuf **mbufs = &sender->mbufs[sender->head & READY_MASK];

	// The stamp of all packets of this call; nothing stands between it and the call.
	uint64_t sent_tsc = clock_tsc();
	uint32_t n_accepted = port_tx(sender->port, mbufs, (uint16_t)n);
	sender->gaps->n_packets += n;
	gap_watch_check(sender->gaps, clock_tsc());

	if (__builtin_expect(n_accepted < n, 0))
		rte_pktmbuf_free_bulk(mbufs + n_accepted, n - n_accepted);
	account(sender, n, n_accepted, sent_tsc, now_tsc);
	sender->gaps->n_packets += n;
	sender->head += n;
	sender->n_ready -= n;
	return n;
}

uint32_t sender_run(struct sender *sender, uint64_t now_tsc)
{
	uint32_t n = 0;

	if (now_tsc >= sender->next_tsc)
		n = send_due(sender, now_tsc);
	else if (__builtin_expect(sender->n_ready == SENDER_READY || sender->is_complete, 1))
		return 0;
	build_frames(sender, SENDER_READY - sender->n_ready);
	find_next(sender);
	return n;
}

// The sender's own fault, so it is void; there is no record of it.
static void count_as_abandoned(struct counters *counters, const struct ready_frame *ready)
{
	bool is_cold = (ready->flags & IN_FLIGHT_COLD) != 0;

	counters->due++;
	counters->unsent++;
	counters->abandoned++;
	counters->void_++;
	counters->cold += is_cold;
	counters->void_cold += is_cold;
	counters->unsent_cold += is_cold;
}

void sender_stop(struct sender *sender)
{
	for (uint32_t i = 0; i < sender->n_ready; i++)
		rte_pktmbuf_free(sender->mbufs[(sender->head + i) & READY_MASK]);
	sender->next_tsc = UINT64_MAX;
}

bool sender_count_abandoned(struct sender *sender, volatile const int *n_signals, int n_allowed)
{
	struct counters *counters = &sender->measurement->counters;
	struct ready_frame ready;

	for (uint32_t i = 0; i < sender->n_ready; i++)
		count_as_abandoned(counters, &sender->ready[(sender->head + i) & READY_MASK]);
	while (!sender->is_complete && next_departure(sender, &ready)) {
		count_as_abandoned(counters, &ready);
		if (*n_signals > n_allowed)
			return false;
	}
	return true;
}
