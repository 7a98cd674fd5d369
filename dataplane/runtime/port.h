#pragma once

// Where packets enter and leave. A port is named "KIND:NAME[,key=value...]", the same in every
// program; port_table names the kinds, one file each. A program parses and checks its ports
// before EAL starts (mistakes then cost no time), opens them after, and closes them before
// eal_stop. One thread owns a port; it has one transmit queue and, unless its peer wants more, one
// receive queue.

#include "error.h"
#include "option_spec.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Which program opens the port: the device under test is a memif's server, unless role= is given.
enum port_side {
	PORT_DEVICE,
	PORT_GENERATOR,
};

enum {
	PORT_TEXT_MAX = 256,
	PORT_OPTIONS_MAX = 128, // bytes of the largest options struct of a kind
	PORT_MAX_FRAME = 1514, // without FCS: 1518 on the wire
};

struct port_spec {
	const struct port_kind *kind;
	enum port_side side;
	bool interrupts; // it is to have receive interrupts (port_interrupt.h)
	uint16_t n_rx_queues; // 1 as parsed; more for a peer that sends on several
	char text[PORT_TEXT_MAX]; // as given: what messages call the port
	char name[PORT_TEXT_MAX]; // between the colon and the first comma
	_Alignas(16) unsigned char options[PORT_OPTIONS_MAX]; // of the kind's own type
};

// Parse "KIND:NAME[,key=value...]". Returns 0 or -EINVAL with one line in error.
int port_spec_parse(
	const char *text, enum port_side side, struct port_spec *out, struct error *error);

// Everything that can be wrong with a program's ports and seen before EAL starts: rights, missing
// interfaces, names in use by others or twice here. Removes the socket file of a dead process.
// Returns 0 or -errno with one line in error.
int port_specs_check(const struct port_spec *specs, size_t n, struct error *error);

// An iteration of a polling loop over these ports longer than threshold + packets * per_packet is
// a gap, unless the user says otherwise: ports that make system calls take longer by nature.
struct port_gap_limits {
	uint64_t threshold_ns, per_packet_ns;
	bool keeps; // a full receive ring keeps the peer waiting; else what finds it full is lost
};
struct port_gap_limits port_gap_limits(const struct port_spec *specs, size_t n);

// Mbufs the ports may hold in their rings: what a pool must have besides what the program holds.
unsigned int port_specs_mbufs(const struct port_spec *specs, size_t n);

// The kinds as the member "ports" of the object that is open; for --describe.
void port_describe(struct json *json);

struct port {
	uint16_t id; // of the ethdev
	uint16_t n_rx_queues;
	uint16_t ring_size; // packets that a receive queue holds
	bool started; // false: a memif client whose server is not there; port_wait_link starts it
	bool is_plugged; // EAL's virtual device, unplugged by port_close
	char device[PORT_TEXT_MAX]; // its name at EAL
	struct port_spec spec;
};

// Create and start; pool feeds its receive queue. A memif's link may still be down, and a client
// not started, since its peer may come later: no rx or tx before it is. Returns 0 or -errno with
// one line in error; on failure nothing stays open.
int port_open(const struct port_spec *spec, struct rte_mempool *pool, struct port **out,
	struct error *error);
void port_close(struct port *port);

// The same at the end of the process; afterwards nothing may use EAL's memory. Some drivers also
// take a port down in EAL's interrupt thread, when its peer leaves: closing the port at that moment
// is a race inside the driver and crashes that thread (memif, one end in some hundred). Such ports
// are left to the kernel.
void port_leave(struct port *port);

// Whether it is a memif client: not started before its server is there, and then still without link
// for some messages, in which what it should send, or its peer, is lost. Wait for its link.
bool port_needs_peer(const struct port *port);

// Wait until the link is up, and start what could not start yet. Returns 0, -ETIMEDOUT, or -EINTR
// when *stop (may be NULL) was set meanwhile.
int port_wait_link(struct port *port, uint64_t timeout_ns, volatile const int *stop);

// What the port itself dropped since it was opened, as the driver counts; 0 where it does not.
struct port_drops {
	uint64_t rx_missed; // its receive ring was full
	uint64_t rx_no_mbuf; // the pool was empty
};
void port_drops(const struct port *port, struct port_drops *out);

// Whether receiving fewer packets than asked for, but some, may leave others in the port.
bool port_may_leave(const struct port *port);

// Hot path: receive up to n packets, of the first queue first. Returns how many there were; fewer
// than n means that every queue was empty, unless the port may leave some.
static inline uint16_t port_rx(const struct port *port, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t n_got = rte_eth_rx_burst(port->id, 0, pkts, n);

	for (uint16_t queue = 1; __builtin_expect(queue < port->n_rx_queues, 0); queue++)
		n_got += rte_eth_rx_burst(port->id, queue, pkts + n_got, n - n_got);
	return n_got;
}

// Hot path: transmit. Returns how many packets the port took; the rest remain the caller's.
static inline uint16_t port_tx(const struct port *port, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_tx_burst(port->id, 0, pkts, n);
}
