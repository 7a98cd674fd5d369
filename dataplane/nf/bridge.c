// A patch cable between two ports: what comes in on a leaves on b and the reverse. Frames from any
// other port are dropped. Needs no address table and touches no byte of the frame.

#include "nf.h"

#include <errno.h>

struct bridge_options {
	uint64_t a, b;
};

static const struct option_spec bridge_options[] = {
	{
		.name = "a",
		.type = OPTION_UINT,
		.offset = offsetof(struct bridge_options, a),
		.default_text = "0",
		.help = "index of the one port, in the order of --port",
		.max = UINT16_MAX,
	},
	{
		.name = "b",
		.type = OPTION_UINT,
		.offset = offsetof(struct bridge_options, b),
		.default_text = "1",
		.help = "index of the other port",
		.max = UINT16_MAX,
	},
};

struct bridge {
	uint16_t a, b;
};

static int check_ports(const struct bridge_options *wanted, uint16_t n_ports, struct error *error)
{
	if (wanted->a < n_ports && wanted->b < n_ports && wanted->a != wanted->b)
		return 0;
	error_set(error, "bridge: ports %lu and %lu wanted, ports 0 to %d there; name two of them",
		(unsigned long)wanted->a, (unsigned long)wanted->b, n_ports - 1);
	return -EINVAL;
}

static int bridge_memory(
	const void *options, const struct nf_env *env, uint64_t *bytes, struct error *error)
{
	return check_ports(options, env->n_ports, error);
}

static int bridge_init(
	void *state, const void *options, const struct nf_env *env, struct error *error)
{
	const struct bridge_options *wanted = options;
	struct bridge *bridge = state;
	int err = check_ports(wanted, env->n_ports, error);

	if (err < 0)
		return err;
	bridge->a = wanted->a;
	bridge->b = wanted->b;
	return 0;
}

static uint16_t bridge_process(void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc)
{
	const struct bridge *bridge = state;
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		uint16_t ingress = nf_ingress(pkts[i]);
		if (ingress != bridge->a && ingress != bridge->b)
			continue;
		nf_set_egress(pkts[i], ingress == bridge->a ? bridge->b : bridge->a);
		nf_keep(pkts, i, &kept);
	}
	return kept;
}

const struct nf_ops nf_bridge = {
	.name = "bridge",
	.summary = "join two ports like a patch cable; drop what comes from any other",
	.options = bridge_options,
	.n_options = RTE_DIM(bridge_options),
	.options_size = sizeof(struct bridge_options),
	.state_size = sizeof(struct bridge),
	.memory = bridge_memory,
	.init = bridge_init,
	.process = bridge_process,
};
