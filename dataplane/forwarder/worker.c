#include "worker.h"

#include "clock.h"
#include "port_interrupt.h"

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

// The other port of the pair; a lone last port sends back to itself.
static inline uint16_t peer_of(const struct worker *worker, uint16_t port)
{
	uint16_t peer = port ^ 1;

	return peer < worker->n_ports ? peer : port;
}

static void send_to(struct worker *worker, uint16_t egress, struct rte_mbuf **pkts, uint16_t n)
{
	if (unlikely(egress >= worker->n_ports)) {
		worker->n_unforwarded += n;
		rte_pktmbuf_free_bulk(pkts, n);
		return;
	}
	worker->transmit.ops->send(&worker->transmit, &worker->egress[egress], pkts, n);
}

// Network functions chose the egress ports: hand over runs of packets that share one, in order.
static void send_by_egress(struct worker *worker, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t from = 0;

	for (uint16_t i = 1; i <= n; i++) {
		uint16_t egress = nf_egress(pkts[from]);
		if (i < n && nf_egress(pkts[i]) == egress)
			continue;
		send_to(worker, egress, &pkts[from], i - from);
		from = i;
	}
}

static inline uint16_t poll_port(struct worker *worker, uint16_t port, uint64_t before_tsc)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t n = port_rx(worker->ports[port], pkts, worker->burst);
	uint16_t peer = peer_of(worker, port);

	if (unlikely(stamp_log_is_on(&worker->stamps)))
		stamp_log_looked(&worker->stamps, port, pkts, n, worker->burst, before_tsc);
	if (n == 0)
		return 0;
	worker->n_rx[port] += n;
	if (worker->pipeline.n_stages == 0) { // a wire: no packet's metadata is touched
		send_to(worker, peer, pkts, n);
		return n;
	}
	// Read after the receive call: a delay counts from when the packets were here.
	uint64_t now_tsc = clock_tsc();
	for (uint16_t i = 0; i < n; i++) {
		pkts[i]->port = port;
		nf_set_egress(pkts[i], peer);
	}
	uint16_t kept = pipeline_process(&worker->pipeline, 0, pkts, n, now_tsc);
	if (kept > 0)
		send_by_egress(worker, pkts, kept);
	return n;
}

// Only when a network function holds packets (delay).
static uint32_t release_held(struct worker *worker)
{
	struct pipeline *pipeline = &worker->pipeline;
	struct rte_mbuf *pkts[BURST_MAX];
	uint32_t n_total = 0;

	for (uint16_t i = 0; i < pipeline->n_stages; i++) {
		if (pipeline->stages[i].ops->release == NULL)
			continue;
		uint16_t n = pipeline_release(pipeline, i, pkts, worker->burst, clock_tsc());
		if (n > 0)
			send_by_egress(worker, pkts, n);
		n_total += n;
	}
	return n_total;
}

// Look at every port once, and note what the loop itself took. *started_tsc is when it began and
// becomes when it ended. Returns how many packets there were.
static inline uint32_t iterate(struct worker *worker, uint64_t *started_tsc)
{
	uint32_t n_packets = 0;

	for (uint16_t port = 0; port < worker->n_ports; port++)
		n_packets += poll_port(worker, port, *started_tsc);
	if (worker->pipeline.n_holders > 0)
		n_packets += release_held(worker);

	uint64_t now_tsc = clock_tsc(); // the one stamp of an iteration without packets
	if (worker->transmit.ops->drain != NULL)
		worker->transmit.ops->drain(&worker->transmit, now_tsc);
	gap_log_check(&worker->gaps, *started_tsc, now_tsc, n_packets);
	worker->min_loop_ticks = RTE_MIN(worker->min_loop_ticks, now_tsc - *started_tsc);
	worker->n_iterations++;
	*started_tsc = now_tsc;
	return n_packets;
}

void worker_run(struct worker *worker)
{
	uint64_t started_tsc = clock_tsc();

	worker->min_loop_ticks = UINT64_MAX;
	while (*worker->stop == 0) {
		(void)iterate(worker, &started_tsc);
		if (unlikely(started_tsc >= worker->end_tsc))
			break;
	}
}

// Whether something here waits for its time, not for packets: a delayed packet, or a batch that a
// timer sends.
static bool holds_packets(const struct worker *worker)
{
	for (uint16_t i = 0; i < worker->pipeline.n_stages; i++)
		if (pipeline_holds(&worker->pipeline.stages[i]) > 0)
			return true;
	for (uint16_t i = 0; worker->transmit.drain_ticks > 0 && i < worker->n_ports; i++)
		if (worker->egress[i].n_held > 0)
			return true;
	return false;
}

static bool may_sleep(const struct worker *worker, uint64_t now_tsc)
{
	return now_tsc - worker->wait.arrived_tsc >= worker->wait.spin_ticks &&
	       !holds_packets(worker);
}

// Arm the interrupts, look once more, and sleep if still nothing is there. Returns when it is over.
static uint64_t sleep_once(struct worker *worker)
{
	struct wait *wait = &worker->wait;

	ports_arm(worker->ports, worker->n_ports);
	uint64_t looked_tsc = clock_tsc(); // arming may have entered the kernel: that is no gap
	if (iterate(worker, &looked_tsc) > 0) {
		wait_arrival(wait, looked_tsc);
		ports_disarm(worker->ports, worker->n_ports);
		return clock_tsc();
	}
	// It wakes without a packet, too: for a signal that came just before, and for the end.
	bool is_far = looked_tsc + wait->nap_ticks < worker->end_tsc;
	ports_sleep(is_far ? WAIT_NAP_MS : 1);
	ports_disarm(worker->ports, worker->n_ports);
	uint64_t woke_tsc = clock_tsc();
	wait->n_sleeps++;
	wait->slept_ticks += woke_tsc - looked_tsc;
	return woke_tsc;
}

void worker_run_sleeping(struct worker *worker)
{
	uint64_t started_tsc = clock_tsc();

	worker->min_loop_ticks = UINT64_MAX;
	while (*worker->stop == 0 && started_tsc < worker->end_tsc) {
		if (iterate(worker, &started_tsc) > 0)
			wait_arrival(&worker->wait, started_tsc);
		else if (may_sleep(worker, started_tsc))
			started_tsc = sleep_once(worker);
	}
}
