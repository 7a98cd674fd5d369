// Packets wait until a buffer is full or a timer runs out, as in DPDK's l2fwd example: 32 packets
// or 100 us. The timer runs freely, it does not start with the first packet: l2fwd checks it once
// an iteration and flushes every port (examples/l2fwd/main.c, l2fwd_main_loop).

#include "clock.h"
#include "transmit.h"

struct buffered_options {
	uint64_t packets, drain_ns;
};

static const struct option_spec buffered_options[] = {
	{
		.name = "packets",
		.type = OPTION_UINT,
		.offset = offsetof(struct buffered_options, packets),
		.default_text = "32",
		.help = "send when so many wait, 1 to 256",
		.min = 1,
		.max = BURST_MAX,
	},
	{
		.name = "drain",
		.type = OPTION_DURATION,
		.offset = offsetof(struct buffered_options, drain_ns),
		.default_text = "100us",
		.help = "send whatever waits every so often; none: only when full",
	},
};

static void buffered_init(struct transmit *transmit, const void *options, uint64_t tsc_hz)
{
	const struct buffered_options *buffered = options;

	transmit->hold_max = buffered->packets;
	transmit->drain_ns = buffered->drain_ns;
	transmit->drain_ticks = clock_ticks(buffered->drain_ns, tsc_hz);
	transmit->drained_tsc = clock_tsc();
}

static void flush(struct egress *egress)
{
	egress_send(egress, egress->held, egress->n_held);
	egress->n_held = 0;
}

static void buffered_send(
	struct transmit *transmit, struct egress *egress, struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		egress->held[egress->n_held++] = pkts[i];
		if (egress->n_held == transmit->hold_max)
			flush(egress);
	}
}

static void buffered_drain(struct transmit *transmit, uint64_t now_tsc)
{
	if (transmit->drain_ticks == 0 || now_tsc - transmit->drained_tsc <= transmit->drain_ticks)
		return;
	for (uint16_t i = 0; i < transmit->n_ports; i++)
		if (transmit->egress[i].n_held > 0)
			flush(&transmit->egress[i]);
	transmit->drained_tsc = now_tsc;
}

const struct transmit_ops transmit_buffered = {
	.name = "buffered",
	.summary = "send when N packets wait or a drain timer runs out, as DPDK's l2fwd",
	.options = buffered_options,
	.n_options = RTE_DIM(buffered_options),
	.options_size = sizeof(struct buffered_options),
	.init = buffered_init,
	.send = buffered_send,
	.drain = buffered_drain,
};
