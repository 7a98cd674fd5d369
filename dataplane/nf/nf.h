#pragma once

// What a network function is: a table of operations, struct nf_ops. Those of taut stand one per
// file beside this one; nf_table.c names them all. One of your own is a shared object whose source
// ends with NF_EXPORT (docs/functions.md), compiled with -I include: this header, public as
// taut/nf.h, and the two that it includes are all of taut that it needs.
//
// A network function sees packets and its own state, never ports, cores or other functions. One
// thread calls all its operations. It may read and change a frame, give it another egress port,
// drop it, or hold it for a while (release). Of a frame it may believe nothing: it is as long as
// rte_pktmbuf_data_len says, and its bytes are whatever somebody sent.

#include "error.h"
#include "option_spec.h"

#include <rte_mbuf.h>
#include <rte_version.h>

#include <stddef.h>
#include <stdint.h>

// Raise it with every change of the structs below, or of those of error.h and option_spec.h, that a
// function which was compiled before would not survive.
enum { NF_ABI = 2 };

// What memory and init may need to turn options into numbers for the hot path.
struct nf_env {
	uint64_t tsc_hz; // 0 for memory: it is not known yet
	uint16_t n_ports;
	uint32_t hold_max; // packets a function may hold before the receive pool runs dry
};

// Ports are indices in the order of --port. The worker sets both before the pipeline: ingress to
// the port it polled, egress to the other port of the pair (0 and 1, 2 and 3; a lone port: itself).
// They stand in fields of the mbuf's first cache line, which the driver has just written.
static inline uint16_t nf_ingress(const struct rte_mbuf *pkt)
{
	return pkt->port;
}

static inline uint16_t nf_egress(const struct rte_mbuf *pkt)
{
	return pkt->hash.usr;
}

// A port that is not there: the worker frees the packet and counts it as unforwarded.
static inline void nf_set_egress(struct rte_mbuf *pkt, uint16_t port)
{
	pkt->hash.usr = port;
}

// A counter of packets within the state: why they were dropped. Each packet is counted by one.
struct nf_drop {
	const char *reason; // as --stats has it, a-z, 0-9 and _: "expired"
	size_t offset; // of a uint64_t within the state
};

struct nf_ops {
	const char *name, *summary; // name: a-z, 0-9 and _
	const struct option_spec *options; // data: parsing, help, defaults, --describe
	size_t n_options, options_size, state_size; // state: per worker, zeroed, cache-line aligned
	// Before EAL starts: refuse what init would refuse of the options, and add to bytes what it
	// is going to take of DPDK's memory beside state. Returns 0 or -errno with one line in
	// error; NULL: nothing is refused, and next to nothing taken.
	int (*memory)(const void *options, const struct nf_env *env, uint64_t *bytes,
		struct error *error);
	const struct nf_drop *drops; // data: --stats; of what is dropped for none, it has the sum
	size_t n_drops;
	// Returns 0 or -errno; on failure error holds one line and nothing stays allocated. NULL:
	// there is nothing to do.
	int (*init)(
		void *state, const void *options, const struct nf_env *env, struct error *error);
	// Keep survivors in pkts[0..kept) in arrival order; return kept. The rest must stand in
	// pkts[kept..n): the pipeline counts and frees them (nf_keep does both moves). now_tsc was
	// read right after the receive call that returned pkts. Hot path: no allocation, lock, log,
	// system call.
	uint16_t (*process)(void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc);
	// Only for functions that hold packets (delay), called once an iteration: moves up to max
	// packets whose time has come to out and returns how many. process() of such a function
	// owns what it does not keep.
	uint16_t (*release)(void *state, struct rte_mbuf **out, uint16_t max, uint64_t now_tsc);
	// Only beside release: packets it could not hold and freed, since the start.
	uint64_t (*n_dropped)(const void *state);
	// What else taut's own functions count, as members of their object of --stats, after the
	// run. NULL: nothing.
	void (*report)(const void *state, struct json *json);
	void (*fini)(void *state); // frees what is still held; NULL: nothing to do
};

// Hot path: packet i survives. Swaps it with the first dropped one before it, if any, so that
// survivors stay in order and no packet is forgotten.
static inline void nf_keep(struct rte_mbuf **pkts, uint16_t i, uint16_t *kept)
{
	struct rte_mbuf *survivor = pkts[i];

	pkts[i] = pkts[*kept];
	pkts[(*kept)++] = survivor;
}

// DPDK's release, 2211: struct rte_mbuf is that of the headers a function was compiled with.
enum { NF_DPDK = RTE_VER_YEAR * 100 + RTE_VER_MONTH };

// What a shared object says of itself, under the name taut_nf; nf_load.c compares. abi stays first,
// whatever else changes.
struct nf_export {
	uint32_t abi, ops_size, dpdk;
	const struct nf_ops *ops;
};

// Last in the source of a shared object: NF_EXPORT(nf_mine);
#define NF_EXPORT(nf)                                                                              \
	extern const struct nf_export taut_nf;                                                     \
	__attribute__((visibility("default")))                                                     \
	const struct nf_export taut_nf = {NF_ABI, sizeof(struct nf_ops), NF_DPDK, &(nf)}
