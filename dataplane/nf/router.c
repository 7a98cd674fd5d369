// An IPv4 and IPv6 router: longest prefix match with DPDK's rte_fib and rte_fib6, a static table of
// neighbours, TTL, and the answers of RFC 1812 and RFC 4443. What it does not do, docs/router.md
// says.

#include "json_writer.h"
#include "nf.h"
#include "router_state.h"

#include <rte_branch_prediction.h>
#include <rte_ip.h>
#include <rte_prefetch.h>

#include <errno.h>
#include <string.h>

enum { CHUNK = 64 }; // packets that are looked up together

struct router_options {
	struct routing_files files;
	uint64_t errors;
};

static const struct option_spec router_options[] = {
	{
		.name = "routes",
		.type = OPTION_STRING,
		.offset = offsetof(struct router_options, files.routes),
		.default_text = "",
		.help = "file of routes as `ip route` lists them, dev being the number of a port",
		.metavar = "FILE",
	},
	{
		.name = "neighbours",
		.type = OPTION_STRING,
		.offset = offsetof(struct router_options, files.neighbours),
		.default_text = "",
		.help = "file of neighbours as `ip neigh` lists them: 192.0.2.1 dev 1 lladdr MAC",
		.metavar = "FILE",
	},
	{
		.name = "addresses",
		.type = OPTION_STRING,
		.offset = offsetof(struct router_options, files.addresses),
		.default_text = "",
		.help = "file of the ports' own: 192.0.2.254/24 dev 1, and dev 1 address MAC",
		.metavar = "FILE",
	},
	{
		.name = "errors",
		.type = OPTION_UINT,
		.offset = offsetof(struct router_options, errors),
		.default_text = "1000",
		.help = "ICMP errors sent a second at most, 50 at once; 0: none",
		.max = 1000000,
	},
};

static const char *const reason_names[ROUTER_N_REASONS] = {
	[ROUTER_NO_ROUTE] = "no_route",
	[ROUTER_LOCAL] = "to_the_router",
	[ROUTER_BROADCAST] = "to_broadcast",
	[ROUTER_NO_NEIGHBOUR] = "no_neighbour",
	[ROUTER_BLACKHOLE] = "blackhole",
	[ROUTER_UNREACHABLE] = "unreachable",
	[ROUTER_PROHIBITED] = "prohibited",
	[ROUTER_EXPIRED] = "ttl_expired",
	[ROUTER_NOT_IP] = "not_ip",
	[ROUTER_OTHER_HOST] = "other_host",
	[ROUTER_LINK_BROADCAST] = "link_broadcast",
	[ROUTER_TRUNCATED] = "truncated",
	[ROUTER_BAD_HEADER] = "bad_header",
	[ROUTER_BAD_CHECKSUM] = "bad_checksum",
	[ROUTER_BAD_SOURCE] = "bad_source",
	[ROUTER_BAD_DESTINATION] = "bad_destination",
	[ROUTER_SOURCE_ROUTE] = "source_route",
};

static const char *const answer_names[ROUTER_N_ANSWERS] = {
	[ROUTER_ANSWERED] = "sent",
	[ROUTER_NOT_ALLOWED] = "not_allowed",
	[ROUTER_OVER_RATE] = "over_rate",
	[ROUTER_NO_WAY_BACK] = "no_way_back",
};

static int router_memory(
	const void *options, const struct nf_env *env, uint64_t *bytes, struct error *error)
{
	const struct router_options *wanted = options;
	struct routing routing = {0};
	int err = routing_load(&routing, &wanted->files, env->n_ports, error);

	if (err == 0)
		*bytes += router_tables_bytes(&routing);
	routing_free(&routing);
	return err;
}

static int router_init(
	void *state, const void *options, const struct nf_env *env, struct error *error)
{
	const struct router_options *wanted = options;
	struct router *router = state;
	struct routing routing;
	int err = routing_load(&routing, &wanted->files, env->n_ports, error);

	if (err < 0)
		return err;
	if (wanted->errors > 0)
		router->budget.ticks_each = env->tsc_hz / wanted->errors;
	router->budget.ticks_most = ROUTER_BURST * router->budget.ticks_each;
	err = router_tables_create(router, &routing, error);
	if (err < 0)
		router_tables_free(router);
	routing_free(&routing);
	return err;
}

void router_find4(const struct router *router, uint32_t *addresses, uint64_t *entries, int n)
{
	if (router->fib4 != NULL)
		rte_fib_lookup_bulk(router->fib4, addresses, entries, n);
	else
		for (int i = 0; i < n; i++)
			entries[i] = router->default4;
}

void router_find6(const struct router *router, uint8_t (*addresses)[16], uint64_t *entries, int n)
{
	if (router->fib6 != NULL)
		rte_fib6_lookup_bulk(router->fib6, addresses, entries, n);
	else
		for (int i = 0; i < n; i++)
			entries[i] = router->default6;
}

// RFC 1624, as Linux: the sum never becomes 0xffff, which a whole one could not be.
static inline void decrement_ttl(struct rte_ipv4_hdr *ip)
{
	uint32_t sum = ip->hdr_checksum + (uint32_t)RTE_BE16(0x0100);

	ip->time_to_live--;
	ip->hdr_checksum = (uint16_t)(sum + (sum >= UINT16_MAX));
}

// Send a packet on by the entry of its destination. Returns ROUTER_IPV4, or why it was not.
static inline enum router_reason forward(
	const struct router *router, struct rte_mbuf *pkt, uint64_t entry, bool is_v6)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip4 = (struct rte_ipv4_hdr *)(ether + 1);
	struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)(ether + 1);

	if (unlikely(entry < ROUTER_HOPS))
		return (enum router_reason)entry;
	if (unlikely((is_v6 ? ip6->hop_limits : ip4->time_to_live) <= 1))
		return ROUTER_EXPIRED;
	if (is_v6)
		ip6->hop_limits--;
	else
		decrement_ttl(ip4);
	const struct router_hop *hop = &router->hops[entry - ROUTER_HOPS];
	ether->dst_addr = hop->destination;
	ether->src_addr = hop->source;
	nf_set_egress(pkt, hop->port);
	return ROUTER_IPV4;
}

struct lookups {
	uint32_t address4[CHUNK];
	uint8_t address6[CHUNK][16];
	uint64_t entry4[CHUNK], entry6[CHUNK];
	int n4, n6;
	uint8_t reasons[CHUNK];
};

static void look_up(
	const struct router *router, struct rte_mbuf *const *pkts, uint16_t n, struct lookups *all)
{
	all->n4 = 0;
	all->n6 = 0;
	for (uint16_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], const void *));
	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *ip =
			rte_pktmbuf_mtod_offset(pkts[i], const uint8_t *, RTE_ETHER_HDR_LEN);
		all->reasons[i] = (uint8_t)router_check(router, pkts[i]);
		if (all->reasons[i] == ROUTER_IPV4)
			all->address4[all->n4++] =
				rte_be_to_cpu_32(((const struct rte_ipv4_hdr *)ip)->dst_addr);
		else if (all->reasons[i] == ROUTER_IPV6)
			memcpy(all->address6[all->n6++],
				((const struct rte_ipv6_hdr *)ip)->dst_addr, 16);
	}
	if (all->n4 > 0)
		router_find4(router, all->address4, all->entry4, all->n4);
	if (all->n6 > 0)
		router_find6(router, all->address6, all->entry6, all->n6);
}

static uint16_t router_process(void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc)
{
	struct router *router = state;
	struct lookups all;
	uint16_t kept = 0;

	for (uint16_t from = 0; from < n; from += CHUNK) {
		const uint16_t n_chunk = RTE_MIN(n - from, CHUNK);
		int i4 = 0, i6 = 0;
		look_up(router, &pkts[from], n_chunk, &all);
		for (uint16_t i = 0; i < n_chunk; i++) {
			enum router_reason reason = all.reasons[i];
			const bool is_v6 = reason == ROUTER_IPV6;
			if (likely(reason >= ROUTER_N_REASONS))
				reason = forward(router, pkts[from + i],
					is_v6 ? all.entry6[i6++] : all.entry4[i4++], is_v6);
			if (likely(reason >= ROUTER_N_REASONS)) {
				router->n_forwarded++;
				nf_keep(pkts, from + i, &kept);
				continue;
			}
			router->n_reasons[reason]++;
			if (router_answer(router, pkts[from + i], reason, is_v6, now_tsc))
				nf_keep(pkts, from + i, &kept);
		}
	}
	return kept;
}

static void router_report(const void *state, struct json *json)
{
	const struct router *router = state;

	json_u64(json, "forwarded", router->n_forwarded);
	json_object(json, "not_forwarded");
	for (int i = 0; i < ROUTER_N_REASONS; i++)
		json_u64(json, reason_names[i], router->n_reasons[i]);
	json_end(json);
	json_object(json, "icmp_errors");
	for (int i = 0; i < ROUTER_N_ANSWERS; i++)
		json_u64(json, answer_names[i], router->n_answers[i]);
	json_end(json);
}

static void router_fini(void *state)
{
	router_tables_free(state);
}

const struct nf_ops nf_router = {
	.name = "router",
	.summary = "route IPv4 and IPv6 by longest prefix match, with TTL and ICMP errors",
	.options = router_options,
	.n_options = RTE_DIM(router_options),
	.options_size = sizeof(struct router_options),
	.state_size = sizeof(struct router),
	.memory = router_memory,
	.init = router_init,
	.process = router_process,
	.report = router_report,
	.fini = router_fini,
};
