#pragma once

// What a transmit policy is: when packets that the network functions have let through leave. One
// per transmit_NAME.c; transmit_table.c names them all. A policy owns the packets it is given:
// what a port refuses is freed and counted in egress.n_refused.

#include "error.h"
#include "option_spec.h"
#include "port.h"
#include "stamp_log.h"
#include "worker_limits.h"

#include <rte_mbuf.h>

#include <stdint.h>

// One port's way out. Written by the worker's core only.
struct egress {
	struct port *port;
	struct stamp_log *stamps; // NULL: what is sent is not stamped
	uint64_t n_tx, n_refused;
	struct rte_mbuf *held[BURST_MAX]; // buffered only
	uint16_t n_held;
} __rte_cache_aligned;

struct transmit {
	const struct transmit_ops *ops;
	struct egress *egress; // n_ports of them
	uint16_t n_ports;
	uint16_t hold_max; // buffered: transmit when so many are held
	uint64_t drain_ns; // buffered: and after this long; 0: no timer
	uint64_t drain_ticks; // the same
	uint64_t drained_tsc;
};

struct transmit_ops {
	const char *name, *summary;
	const struct option_spec *options; // positional too: "buffered:32,100us"
	size_t n_options, options_size;
	uint16_t burst_max; // packets taken in one poll at most; 0: as --burst says
	// Turn options into the fields above. NULL: there is nothing to turn.
	void (*init)(struct transmit *transmit, const void *options, uint64_t tsc_hz);
	// Hot path: n > 0 packets for one port, in order.
	void (*send)(struct transmit *transmit, struct egress *egress, struct rte_mbuf **pkts,
		uint16_t n);
	// Hot path, once an iteration; NULL: the policy never holds packets.
	void (*drain)(struct transmit *transmit, uint64_t now_tsc);
};

extern const struct transmit_ops *const transmit_table[];
extern const size_t transmit_table_size;

// "NAME" or "NAME:VALUE,..." (values in the order of the options, or key=value). Returns 0 or
// -EINVAL with one line in error. egress stays the caller's.
int transmit_init(struct transmit *transmit, const char *text, struct egress *egress,
	uint16_t n_ports, uint64_t tsc_hz, struct error *error);

// Free what is still held; counted as refused. After the last iteration.
void transmit_fini(struct transmit *transmit);

// Hot path: transmit at once; free and count what the port refuses.
static inline void egress_send(struct egress *egress, struct rte_mbuf **pkts, uint16_t n)
{
	uint64_t sent_tsc = 0;

	if (unlikely(egress->stamps != NULL))
		sent_tsc = stamp_log_sending(egress->stamps, pkts, n);
	uint16_t n_sent = port_tx(egress->port, pkts, n);
	if (unlikely(egress->stamps != NULL))
		stamp_log_sent(egress->stamps, n_sent, sent_tsc);
	egress->n_tx += n_sent;
	if (unlikely(n_sent < n)) {
		egress->n_refused += n - n_sent;
		rte_pktmbuf_free_bulk(&pkts[n_sent], n - n_sent);
	}
}
