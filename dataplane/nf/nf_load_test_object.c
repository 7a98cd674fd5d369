// A shared object for nf_load_test.c, built once for each thing that may be wrong with one: WRONG
// says which (meson.build).

#include "nf.h"

enum { NOTHING, ABI, SIZE, DPDK, SYMBOL, PROCESS, NAME, RELEASE, FINI, OPTION, DROP };

struct object {
	uint64_t n_dropped;
};

static const struct option_spec options[] = {
	{.name = "x", .type = OPTION_UINT, .default_text = "0", .help = "nothing"},
};

static const struct nf_drop drops[] = {
	{.reason = "x", .offset = WRONG == DROP ? sizeof(struct object) : 0},
};

void nobody_has_this(void);

static uint16_t process(void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc)
{
	if (WRONG == SYMBOL)
		nobody_has_this();
	return n;
}

static uint16_t release(void *state, struct rte_mbuf **out, uint16_t max, uint64_t now_tsc)
{
	return 0;
}

static uint64_t n_dropped(const void *state)
{
	return 0;
}

static const struct nf_ops object = {
	.name = WRONG == NAME ? "no word" : "object",
	.summary = "let every packet through",
	.options = options,
	.n_options = RTE_DIM(options),
	.options_size = WRONG == OPTION ? 0 : sizeof(uint64_t),
	.state_size = sizeof(struct object),
	.drops = drops,
	.n_drops = RTE_DIM(drops),
	.process = WRONG == PROCESS ? NULL : process,
	.release = WRONG == RELEASE || WRONG == FINI ? release : NULL,
	.n_dropped = WRONG == FINI ? n_dropped : NULL,
};

extern const struct nf_export taut_nf;
const struct nf_export taut_nf = {
	.abi = NF_ABI + (WRONG == ABI),
	.ops_size = sizeof(struct nf_ops) + 8 * (WRONG == SIZE),
	.dpdk = NF_DPDK + (WRONG == DPDK),
	.ops = &object,
};
