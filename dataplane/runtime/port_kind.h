#pragma once

// What a kind of port is. One per file (port_memif.c, ...); port_table.c names them all.

#include "error.h"
#include "port.h"

enum port_cost {
	PORT_COST_USER_SPACE, // polling and sending stay in this process
	PORT_COST_WAKES_PEER, // sending enters the kernel where the peer sleeps, as only devices do
	PORT_COST_SYSTEM_CALLS, // sending, perhaps polling, enters the kernel
};

// Whether the kind's driver can interrupt on receipt. It is asked for each port (port_listen): that
// a device can be configured for it says nothing.
enum port_interrupts {
	PORT_NO_INTERRUPTS,
	PORT_INTERRUPTS,
	PORT_INTERRUPTS_WITH_PEER, // from when its peer is there
};

struct port_kind {
	const char *name, *summary;
	const char *driver; // of DPDK, for messages and device names
	bool is_pci; // EAL probes it at start, by its address
	const struct option_spec *options;
	size_t n_options, options_size;
	bool needs_root;
	enum port_interrupts interrupts;
	bool shares_memory; // with its peer: all of it has to lie in few files (eal.c)
	enum port_cost cost;
	bool may_leave; // fewer packets than asked for, but some: others may be in its ring
	unsigned int n_mbufs; // its rings may hold
	// Of a receive ring that has its size from elsewhere; NULL: as many as descriptors.
	uint16_t (*ring_size)(const struct port_spec *spec);
	// May be NULL. Of the n_earlier specs of this program that came before: none may collide.
	// Returns 0 or -errno with one line in error.
	int (*check)(const struct port_spec *spec, const struct port_spec *earlier,
		size_t n_earlier, struct error *error);
	// The virtual device's arguments. Returns 0 or -errno with one line in error.
	int (*devargs)(
		const struct port_spec *spec, char *out, size_t out_len, struct error *error);
	// Instead of devargs, for virtual devices made by a call: store name and number. Returns 0
	// or -errno.
	int (*create)(const struct port_spec *spec, char *device, size_t device_len, uint16_t *id);
	// What is left to do once the device is started. Returns 0 or -errno with one line in
	// error; may be NULL.
	int (*started)(const struct port_spec *spec, struct error *error);
	// Whether it refuses to start, or is of no use, until its peer is there; NULL: never.
	bool (*needs_peer)(const struct port_spec *spec);
	void (*destroy)(const struct port_spec *spec); // after the ethdev is closed; may be NULL
	// Instead of closing it at the end of the process: leave to the kernel what it takes back
	// by itself, remove the rest. NULL: it is closed (port_leave).
	void (*leave)(const struct port_spec *spec);
	const char *open_remedy; // what to look at when the driver refuses
};

// All kinds, NULL at the end.
extern const struct port_kind *const port_table[];

// Write one line "TEXT: ..." to error and return err.
__attribute__((format(printf, 4, 5))) int port_fail(
	const struct port_spec *spec, int err, struct error *error, const char *format, ...);

// For kinds whose name is a network interface: check that it exists and that no earlier spec names
// it. Returns 0 or -errno with one line in error.
int port_check_interface(const struct port_spec *spec, const struct port_spec *earlier,
	size_t n_earlier, struct error *error);
