/*
 * A network function of one's own, outside the tree: drops UDP datagrams to one port. Copy it, give
 * it another name and another purpose. In the folder of taut:
 *
 *	cc -O3 -fPIC -shared $(pkg-config --cflags libdpdk) -I include \
 *		-o examples/port_filter.so examples/port_filter.c \
 *		$(pkg-config --libs libdpdk)
 *
 * docs/functions.md says how to measure it, taut/nf.h what a function may do.
 */

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include <netinet/in.h>
#include <taut/nf.h>

struct port_filter_options {
	uint64_t port;
};

static const struct option_spec port_filter_options[] = {
	{
		.name = "port",
		.type = OPTION_UINT,
		.offset = offsetof(struct port_filter_options, port),
		.help = "UDP port whose datagrams are dropped",
		.min = 1,
		.max = UINT16_MAX,
	},
};

struct port_filter {
	rte_be16_t port;
	uint64_t n_filtered, n_truncated;
};

static const struct nf_drop port_filter_drops[] = {
	{.reason = "filtered", .offset = offsetof(struct port_filter, n_filtered)},
	{.reason = "truncated", .offset = offsetof(struct port_filter, n_truncated)},
};

static int port_filter_init(
	void *state, const void *options, const struct nf_env *env, struct error *error)
{
	const struct port_filter_options *wanted = options;
	struct port_filter *filter = state;

	filter->port = rte_cpu_to_be_16((uint16_t)wanted->port);
	return 0;
}

// Give the counter of why the packet is dropped; NULL: it passes. What is not UDP over IPv4, or is
// a later fragment and has no port, passes.
static uint64_t *port_filter_judge(struct port_filter *filter, const struct rte_mbuf *pkt)
{
	const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(ether + 1);
	size_t len = rte_pktmbuf_data_len(pkt);

	if (len < sizeof(*ether))
		return &filter->n_truncated;
	if (ether->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return NULL;
	if (len < sizeof(*ether) + sizeof(*ip))
		return &filter->n_truncated;
	if (ip->next_proto_id != IPPROTO_UDP ||
		(ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return NULL;
	size_t udp_at = sizeof(*ether) + rte_ipv4_hdr_len(ip);
	if (len < udp_at + sizeof(struct rte_udp_hdr))
		return &filter->n_truncated;
	const struct rte_udp_hdr *udp =
		rte_pktmbuf_mtod_offset(pkt, const struct rte_udp_hdr *, udp_at);
	return udp->dst_port == filter->port ? &filter->n_filtered : NULL;
}

static uint16_t port_filter_process(
	void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		uint64_t *n_dropped = port_filter_judge(state, pkts[i]);
		if (n_dropped == NULL)
			nf_keep(pkts, i, &kept);
		else
			(*n_dropped)++;
	}
	return kept;
}

static const struct nf_ops port_filter = {
	.name = "port_filter",
	.summary = "drop UDP datagrams to one port",
	.options = port_filter_options,
	.n_options = RTE_DIM(port_filter_options),
	.options_size = sizeof(struct port_filter_options),
	.state_size = sizeof(struct port_filter),
	.drops = port_filter_drops,
	.n_drops = RTE_DIM(port_filter_drops),
	.init = port_filter_init,
	.process = port_filter_process,
};

NF_EXPORT(port_filter);
