// Whatever one poll returned leaves at once: a burst forms only when packets have really arrived
// together, so a full port gets full bursts and a quiet one never waits.

#include "transmit.h"

static void eager_send(
	struct transmit *transmit, struct egress *egress, struct rte_mbuf **pkts, uint16_t n)
{
	egress_send(egress, pkts, n);
}

const struct transmit_ops transmit_eager = {
	.name = "eager",
	.summary = "process and send at once what one poll returned; never wait for more",
	.send = eager_send,
};
