// One packet a poll, one a transmit call: the unbuffered forwarder of the papers (method.md,
// debs20), and testpmd with --burst=1.

#include "transmit.h"

static void single_send(
	struct transmit *transmit, struct egress *egress, struct rte_mbuf **pkts, uint16_t n)
{
	// More than one packet only when a network function releases several.
	for (uint16_t i = 0; i < n; i++)
		egress_send(egress, &pkts[i], 1);
}

const struct transmit_ops transmit_single = {
	.name = "single",
	.summary = "receive and send one packet at a time",
	.burst_max = 1,
	.send = single_send,
};
