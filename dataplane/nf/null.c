// Does nothing, so that the cost of the pipeline itself can be measured.

#include "nf.h"

static uint16_t null_process(void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc)
{
	return n;
}

const struct nf_ops nf_null = {
	.name = "null",
	.summary = "let every packet through untouched: the cost of the pipeline",
	.process = null_process,
};
