// Swaps source and destination MAC, so that the other side takes the frame for an answer.

#include "nf.h"

#include <rte_ether.h>

static uint16_t mac_swap_process(void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc)
{
	for (uint16_t i = 0; i < n; i++) {
		struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkts[i], struct rte_ether_hdr *);
		struct rte_ether_addr source = ether->src_addr;
		ether->src_addr = ether->dst_addr;
		ether->dst_addr = source;
	}
	return n;
}

const struct nf_ops nf_mac_swap = {
	.name = "mac_swap",
	.summary = "swap source and destination MAC addresses",
	.process = mac_swap_process,
};
