// Packets through the firewall: it changes none, counts what it drops, and says of each in a burst
// what it says of it alone.

#include "fuzz_nf.h"

#include <string.h>

extern const struct nf_ops nf_firewall;

enum { TIMEOUT_TSC = FUZZ_TSC_HZ / 1000, STEP_TSC = TIMEOUT_TSC * 2 / 3 };

static const char options[] = "connections=64,tcp_opening=1ms,tcp=1ms,tcp_closing=1ms,"
			      "tcp_closed=1ms,udp=1ms,udp_answered=1ms,icmp=1ms,others=1ms";
static const struct fuzz_file rules = {"rules",
	"add table inet t\n"
	"add chain inet t c { type filter hook forward priority 0; policy drop; }\n"
	"add rule inet t c ct state established,related accept\n"
	"add rule inet t c ct state invalid drop\n"
	"add rule inet t c ip saddr 10.0.0.0/8 tcp flags syn / fin,syn,rst,ack accept\n"
	"add rule inet t c ip daddr != 10.0.0.2 meta l4proto { tcp, udp } th dport 0-1023 accept\n"
	"add rule inet t c ip6 saddr ::/8 udp sport != 53 accept\n"
	"add rule inet t c iifname \"port1\" icmpv6 type { echo-request, 3 } accept\n"
	"add rule inet t c icmp type echo-request accept\n"
	"add rule inet t c ct state untracked accept\n"};

static uint64_t n_dropped(const void *nf)
{
	uint64_t sum = 0, n;

	for (size_t i = 0; i < nf_firewall.n_drops; i++) {
		memcpy(&n, (const char *)nf + nf_firewall.drops[i].offset, sizeof(n));
		sum += n;
	}
	return sum;
}

// The frames are those of the input still.
static void check_frames(const struct fuzz_bursts *bursts, const uint8_t *data)
{
	for (uint16_t i = 0; bursts->n > 0 && i < bursts->firsts[bursts->n]; i++) {
		const struct rte_mbuf *pkt = &bursts->pkts[i];
		must(pkt->data_off == RTE_PKTMBUF_HEADROOM &&
				memcmp(rte_pktmbuf_mtod(pkt, const void *), data + 2,
					pkt->data_len) == 0,
			"no byte is changed");
		data += 2 + pkt->data_len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void *together, *alone;
	static uint64_t now_tsc = 1;
	bool verdicts[FUZZ_PKTS_MAX], verdict;
	struct fuzz_bursts bursts;

	if (together == NULL) {
		together = fuzz_nf_create(&nf_firewall, options, &rules, 1);
		alone = fuzz_nf_create(&nf_firewall, options, &rules, 1);
	}
	fuzz_bursts_read(&bursts, data, len);
	for (uint16_t i = 0; i < bursts.n; i++) {
		uint16_t first = bursts.firsts[i], n = (uint16_t)(bursts.firsts[i + 1] - first);
		uint64_t before = n_dropped(together);
		uint16_t kept =
			fuzz_nf_process(&nf_firewall, together, &bursts, i, now_tsc, verdicts);
		must(n_dropped(together) - before == (uint64_t)(n - kept), "drops are counted");
		for (uint16_t j = 0; j < n; j++) {
			struct rte_mbuf *pkt = &bursts.pkts[first + j];
			verdict = nf_firewall.process(alone, &pkt, 1, now_tsc) == 1;
			must(verdict == verdicts[j], "a verdict does not depend on the burst");
		}
		now_tsc += STEP_TSC;
	}
	check_frames(&bursts, data);
	fuzz_bursts_free(&bursts);
	now_tsc += TIMEOUT_TSC; // the next input finds no connection
	return 0;
}
