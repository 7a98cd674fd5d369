#include "receiver.h"

#include "clock.h"
#include "probe.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

static inline void receive_one(struct receiver *receiver, const struct rte_mbuf *mbuf,
	uint64_t received_tsc, uint32_t arrival_window)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct probe probe;

	if (__builtin_expect(mbuf->data_len < PROBE_HEAD_LEN || !probe_read(frame, &probe), 0)) {
		receiver->of[0]->counters.foreign++;
		return;
	}
	const struct received_packet packet = {
		.seq = probe.seq,
		.due_tsc = probe_due_tsc(&probe, receiver->epoch_tsc, received_tsc),
		.received_tsc = received_tsc,
		.arrival_window = arrival_window,
		.flow = probe_flow(frame),
		.frame_len = (uint16_t)(mbuf->pkt_len + PROBE_FCS_LEN),
		.is_ours =
			probe.run_id == receiver->run_id && receiver->is_expected[probe.direction],
	};
	// One that came after its deadline, as a duplicate may, tells nothing of the others.
	if (packet.is_ours && packet.due_tsc < receiver->waiting.oldest_tsc &&
		receiver->arrivals.since_tsc <= packet.due_tsc + receiver->of[0]->deadline_ticks)
		receiver->waiting.oldest_tsc = packet.due_tsc;
	measurement_received(receiver->of[probe.direction], &packet);
}

uint32_t receiver_run(struct receiver *receiver, uint64_t before_tsc)
{
	struct rte_mbuf *mbufs[RECEIVER_BURST];
	uint32_t n = port_rx(receiver->port, mbufs, RECEIVER_BURST);
	uint64_t received_tsc = clock_tsc();

	receiver->gaps->n_packets += n;
	gap_watch_check(receiver->gaps, received_tsc);
	if (n > 0) {
		uint64_t window = received_tsc - receiver->arrivals.since_tsc;
		uint32_t window_ticks = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX;

		for (uint32_t i = 0; i < n; i++)
			receive_one(receiver, mbufs[i], received_tsc, window_ticks);
		rte_pktmbuf_free_bulk(mbufs, n);
		receiver->gaps->n_packets += n;
		gap_watch_waited(receiver->gaps, &receiver->waiting, n,
			receiver->arrivals.since_tsc, received_tsc);
	}
	if (!arrivals_polled(&receiver->arrivals, before_tsc, n, RECEIVER_BURST))
		receiver->waiting = none_waiting;
	// Each direction it takes packets of, for most ports the same one twice.
	for (int i = 0; i < 2; i++)
		measurement_seen(receiver->of[i], receiver->arrivals.since_tsc);
	return n;
}
