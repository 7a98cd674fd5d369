// Packets through the router: each is forwarded or has its reason, and what comes out, be it the
// packet or an ICMP error, has a right sum and a port.

#include "fuzz_nf.h"
#include "router_state.h"

#include <rte_ip.h>

extern const struct nf_ops nf_router;

static const struct fuzz_file files[] = {
	{"routes", "10.0.0.0/8 via 198.51.100.7 dev 1\n10.1.0.0/16 dev 1\n"
		   "blackhole 10.2.0.0/16\nunreachable 10.3.0.0/16\nprohibit 10.4.0.0/16\n"
		   "2001:db8:a::/48 via 2001:db8:2::7 dev 1\n2001:db8:a:1::/64 dev 1\n"
		   "unreachable 2001:db8:a:3::/64\nprohibit 2001:db8:a:4::/64\n"},
	{"neighbours", "192.0.2.1 dev 0 lladdr 02:00:00:00:00:01\n"
		       "198.51.100.7 dev 1 lladdr 02:00:00:00:00:07\n"
		       "2001:db8:1::1 dev 0 lladdr 02:00:00:00:00:01\n"
		       "2001:db8:2::7 dev 1 lladdr 02:00:00:00:00:07\n"},
	{"addresses", "192.0.2.254/24 dev 0\n198.51.100.254/24 dev 1\n2001:db8:1::ff/64 dev 0\n"
		      "2001:db8:2::ff/64 dev 1\ndev 0 address 02:00:00:00:0a:00\n"},
};

static uint64_t n_not_forwarded(const struct router *router)
{
	uint64_t sum = 0;

	for (int i = 0; i < ROUTER_N_REASONS; i++)
		sum += router->n_reasons[i];
	return sum;
}

static void check_frame(const struct rte_mbuf *pkt)
{
	const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(ether + 1);

	must(nf_egress(pkt) < 2, "a port that is there");
	if (ether->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
		must(((const struct rte_ipv6_hdr *)ip)->hop_limits > 0, "a hop is left");
		return;
	}
	must(ether->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4), "IP");
	must(ip->time_to_live > 0, "a hop is left");
	must(rte_raw_cksum(ip, rte_ipv4_hdr_len(ip)) == UINT16_MAX, "a sum that is right");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct router *router;
	static uint64_t now_tsc = 1;
	bool verdicts[FUZZ_PKTS_MAX];
	struct fuzz_bursts bursts;

	if (router == NULL)
		router = fuzz_nf_create(&nf_router, "errors=1000000", files, RTE_DIM(files));
	fuzz_bursts_read(&bursts, data, len);
	for (uint16_t i = 0; i < bursts.n; i++) {
		const struct router before = *router;
		uint16_t first = bursts.firsts[i], n = (uint16_t)(bursts.firsts[i + 1] - first);
		uint16_t kept = fuzz_nf_process(&nf_router, router, &bursts, i, now_tsc, verdicts);
		uint64_t n_forwarded = router->n_forwarded - before.n_forwarded;
		must(n_forwarded + n_not_forwarded(router) - n_not_forwarded(&before) == n,
			"each is forwarded or has its reason");
		must(n_forwarded + router->n_answers[ROUTER_ANSWERED] -
					before.n_answers[ROUTER_ANSWERED] ==
				kept,
			"what comes out is counted");
		for (uint16_t j = 0; j < n; j++)
			if (verdicts[j])
				check_frame(&bursts.pkts[first + j]);
		now_tsc += FUZZ_TSC_HZ; // any number of errors may be sent
	}
	fuzz_bursts_free(&bursts);
	return 0;
}
