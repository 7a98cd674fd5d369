// Lets packets through by rules, which a file says in nftables' words, and by the connections they
// belong to. docs/firewall.md says what it understands and what becomes of which packet.

#include "clock.h"
#include "firewall_acl.h"
#include "firewall_connections.h"
#include "firewall_counts.h"
#include "nf.h"

#include <rte_prefetch.h>

#include <errno.h>
#include <string.h>

enum {
	CHUNK = 32, // packets whose rules and connections are looked up at once
	AHEAD = 4, // packets fetched before they are read
	SWEEP_FULL = 64, // places looked at for one that is free, when the table is full
};

enum verdict { VERDICT_ACCEPT, VERDICT_DROP };

struct firewall_options {
	const char *rules;
	uint64_t connections;
	uint32_t arp, other; // enum verdict
	uint64_t timeouts_ns[CONNECTION_N_PHASES];
};

static const char *const verdicts[] = {"accept", "drop", NULL};

#define VERDICT(field, default_, help_)                                                            \
	{                                                                                          \
		.name = #field, .type = OPTION_CHOICE,                                             \
		.offset = offsetof(struct firewall_options, field), .default_text = (default_),    \
		.help = (help_), .choices = verdicts                                               \
	}

#define TIMEOUT(phase, name_, default_, help_)                                                     \
	{                                                                                          \
		.name = (name_), .type = OPTION_DURATION,                                          \
		.offset = offsetof(struct firewall_options, timeouts_ns) +                         \
			  (phase) * sizeof(uint64_t),                                              \
		.default_text = (default_), .help = (help_), .min = 1000000,                       \
		.max = 864000000000000                                                             \
	}

static const struct option_spec firewall_options[] = {
	{
		.name = "rules",
		.type = OPTION_STRING,
		.offset = offsetof(struct firewall_options, rules),
		.default_text = "",
		.help = "file of `add table`, `add chain` and `add rule` lines as nft takes them "
			"(docs/firewall.md); none: every IP packet is accepted",
		.metavar = "FILE",
	},
	{
		.name = "connections",
		.type = OPTION_UINT,
		.offset = offsetof(struct firewall_options, connections),
		.default_text = "65536",
		.help = "most connections known at once, where a rule names ct state; when it is "
			"full, packets of others are dropped and counted",
		.min = 1,
		.max = 1 << 24,
	},
	VERDICT(arp, "accept", "what becomes of ARP, which rules do not see"),
	VERDICT(other, "drop", "what becomes of frames that are neither IP nor ARP"),
	TIMEOUT(CONNECTION_TCP_OPENING, "tcp_opening", "120s",
		"TCP that is not open yet is forgotten"),
	TIMEOUT(CONNECTION_TCP, "tcp", "120h", "a silent TCP connection is forgotten"),
	TIMEOUT(CONNECTION_TCP_CLOSING, "tcp_closing", "120s", "the same behind a FIN"),
	TIMEOUT(CONNECTION_TCP_CLOSED, "tcp_closed", "10s", "the same behind RST or both FINs"),
	TIMEOUT(CONNECTION_UDP, "udp", "30s", "a UDP flow without answer is forgotten"),
	TIMEOUT(CONNECTION_UDP_ANSWERED, "udp_answered", "120s", "an answered UDP flow is"),
	TIMEOUT(CONNECTION_ICMP, "icmp", "30s", "an ICMP request is"),
	TIMEOUT(CONNECTION_OTHER, "others", "600s", "a flow of any other protocol is"),
};

struct firewall {
	struct firewall_acl acl;
	struct connections connections;
	struct firewall_counts counts;
	bool tracks, accepts_arp, accepts_other;
	uint64_t n_arp, n_other; // accepted
	uint64_t n_by_rule, n_by_policy, n_malformed, n_fragment, n_table_full;
	uint64_t n_arp_dropped, n_other_dropped;
	struct packet packets[CHUNK];
	int32_t places[CHUNK]; // of the packets' connections; below 0: none
	uint32_t found[CHUNK]; // the packets' rules, from 1; 0: the policy
	uint64_t n_changes; // of connections, when the places were found
};

static const struct nf_drop firewall_drops[] = {
	{"rule", offsetof(struct firewall, n_by_rule)},
	{"policy", offsetof(struct firewall, n_by_policy)},
	{"malformed", offsetof(struct firewall, n_malformed)},
	{"fragment", offsetof(struct firewall, n_fragment)},
	{"table_full", offsetof(struct firewall, n_table_full)},
	{"arp", offsetof(struct firewall, n_arp_dropped)},
	{"other", offsetof(struct firewall, n_other_dropped)},
};

static void firewall_fini(void *state)
{
	struct firewall *firewall = state;

	firewall_acl_fini(&firewall->acl);
	if (firewall->tracks)
		connections_fini(&firewall->connections);
	firewall_counts_fini(&firewall->counts);
}

static int init_by_rules(struct firewall *firewall, const struct firewall_options *wanted,
	const struct rules *rules, const struct nf_env *env, struct error *error)
{
	int err = firewall_counts_init(&firewall->counts, rules, error);

	if (err == 0)
		err = firewall_acl_init(&firewall->acl, rules, error);
	if (err < 0 || !rules->has_state)
		return err;
	err = connections_init(&firewall->connections, (uint32_t)wanted->connections, error);
	if (err < 0)
		return err;
	firewall->tracks = true;
	firewall->connections.rules_have_flags = rules->has_tcp_flags;
	for (int phase = 0; phase < CONNECTION_N_PHASES; phase++)
		firewall->connections.timeouts[phase] =
			clock_ticks(wanted->timeouts_ns[phase], env->tsc_hz);
	return 0;
}

// The ranges are sorted: where the first begins behind the ports, no packet comes in at any.
static int check_ports(
	const char *path, const struct rules *rules, uint16_t n_ports, struct error *error)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct ranges *ports = &rules->items[i].fields[RULE_PORT];
		if (ports->n == 0 || ports->items[0].first < n_ports)
			continue;
		error_set(error, "%s:%lu: port%u: no such port; ports are port0 to port%d", path,
			rules->items[i].line, (unsigned int)ports->items[0].first, n_ports - 1);
		return -EINVAL;
	}
	return 0;
}

static int load_rules(const char *path, uint16_t n_ports, struct rules *rules, struct error *error)
{
	*rules = (struct rules){.accepts = true};
	int err = *path != '\0' ? rules_load(path, rules, error) : 0;

	return err == 0 ? check_ports(path, rules, n_ports, error) : err;
}

static int firewall_memory(
	const void *options, const struct nf_env *env, uint64_t *bytes, struct error *error)
{
	const struct firewall_options *wanted = options;
	struct rules rules;
	int err = load_rules(wanted->rules, env->n_ports, &rules, error);

	if (err == 0)
		err = firewall_acl_memory(&rules, bytes, error);
	*bytes += firewall_counts_bytes(&rules);
	if (rules.has_state)
		*bytes += connections_bytes((uint32_t)wanted->connections);
	rules_clear(&rules);
	return err;
}

static int firewall_init(
	void *state, const void *options, const struct nf_env *env, struct error *error)
{
	const struct firewall_options *wanted = options;
	struct firewall *firewall = state;
	struct rules rules;
	int err = load_rules(wanted->rules, env->n_ports, &rules, error);

	firewall->accepts_arp = wanted->arp == VERDICT_ACCEPT;
	firewall->accepts_other = wanted->other == VERDICT_ACCEPT;
	if (err == 0)
		err = init_by_rules(firewall, wanted, &rules, env, error);
	rules_clear(&rules);
	if (err < 0)
		firewall_fini(firewall);
	return err;
}

static inline bool has_key(const struct packet *packet)
{
	return packet->kind == PACKET_IP && packet->track != TRACK_INVALID &&
	       packet->track != TRACK_NONE;
}

static void find_connections(struct firewall *firewall, uint16_t n, uint64_t now_tsc)
{
	const void *keys[CHUNK];
	int32_t places[CHUNK];
	uint16_t n_keys = 0;

	for (uint16_t i = 0; i < n; i++)
		if (has_key(&firewall->packets[i]))
			keys[n_keys++] = &firewall->packets[i].key;
	firewall->n_changes = firewall->connections.n_changes;
	if (n_keys > 0)
		connections_find(&firewall->connections, keys, n_keys, places);
	for (uint16_t i = 0; i < n_keys; i++)
		if (places[i] >= 0)
			rte_prefetch0(&firewall->connections.items[places[i]]);
	for (uint16_t i = 0, j = 0; i < n; i++) {
		struct packet *packet = &firewall->packets[i];
		firewall->places[i] = has_key(packet) ? places[j++] : -1;
		packet->fields.state = (uint8_t)connections_state(
			&firewall->connections, firewall->places[i], packet, now_tsc);
	}
}

// The rules of all IP packets of the chunk.
static void find_rules(struct firewall *firewall, uint16_t n)
{
	for (int is_ipv6 = 0; is_ipv6 < 2; is_ipv6++) {
		const uint8_t *fields[CHUNK];
		uint16_t places[CHUNK], n_fields = 0;
		uint32_t found[CHUNK];
		for (uint16_t i = 0; i < n; i++) {
			const struct packet *packet = &firewall->packets[i];
			if (packet->kind != PACKET_IP || packet->is_ipv6 != is_ipv6)
				continue;
			if (firewall->tracks &&
				connections_recall_rule(&firewall->connections, firewall->places[i],
					packet, &firewall->found[i]))
				continue;
			places[n_fields] = i;
			fields[n_fields++] = (const uint8_t *)&packet->fields;
		}
		if (n_fields == 0)
			continue;
		firewall_acl_classify(
			is_ipv6 ? firewall->acl.v6 : firewall->acl.v4, fields, n_fields, found);
		for (uint16_t i = 0; i < n_fields; i++)
			firewall->found[places[i]] = found[i];
	}
}

// An earlier packet of the chunk may have begun, answered or ended this one's connection: then it
// is of another state than it was found in, and another rule's.
static void find_again(struct firewall *firewall, uint16_t i, uint64_t now_tsc)
{
	struct packet *packet = &firewall->packets[i];
	const void *key = &packet->key;
	const uint8_t *fields = (const uint8_t *)&packet->fields;

	if (has_key(packet) && firewall->connections.n_changes != firewall->n_changes)
		connections_find(&firewall->connections, &key, 1, &firewall->places[i]);
	enum rule_state state =
		connections_state(&firewall->connections, firewall->places[i], packet, now_tsc);
	if (state == (enum rule_state)packet->fields.state)
		return;
	packet->fields.state = (uint8_t)state;
	firewall_acl_classify(packet->is_ipv6 ? firewall->acl.v6 : firewall->acl.v4, &fields, 1,
		&firewall->found[i]);
}

static bool begin(struct firewall *firewall, const struct packet *packet, uint64_t now_tsc)
{
	if (connections_begin(&firewall->connections, packet, now_tsc))
		return true;
	connections_sweep(&firewall->connections, SWEEP_FULL, now_tsc);
	if (connections_begin(&firewall->connections, packet, now_tsc))
		return true;
	firewall->n_table_full++;
	return false;
}

static bool judge_ip(struct firewall *firewall, uint16_t i, uint32_t len, uint64_t now_tsc)
{
	const struct packet *packet = &firewall->packets[i];
	bool is_first = true;

	if (firewall->tracks) {
		if (unlikely(packet->is_fragment)) {
			firewall->n_fragment++;
			return false;
		}
		find_again(firewall, i, now_tsc);
		connections_keep_rule(
			&firewall->connections, firewall->places[i], packet, firewall->found[i]);
		if (firewall->places[i] >= 0)
			is_first = connections_note(&firewall->connections, firewall->places[i],
				packet, packet->fields.state, now_tsc);
	}
	struct rule_count *count = &firewall->counts.items[firewall->found[i]];
	count->n_packets++;
	count->n_bytes += len;
	if (!count->accepts) {
		*(firewall->found[i] > 0 ? &firewall->n_by_rule : &firewall->n_by_policy) += 1;
		return false;
	}
	if (firewall->tracks && is_first && packet->fields.state == STATE_NEW)
		return begin(firewall, packet, now_tsc);
	return true;
}

static bool judge(struct firewall *firewall, uint16_t i, uint32_t len, uint64_t now_tsc)
{
	switch (firewall->packets[i].kind) {
	case PACKET_IP:
		return judge_ip(firewall, i, len, now_tsc);
	case PACKET_ARP:
		*(firewall->accepts_arp ? &firewall->n_arp : &firewall->n_arp_dropped) += 1;
		return firewall->accepts_arp;
	case PACKET_OTHER:
		*(firewall->accepts_other ? &firewall->n_other : &firewall->n_other_dropped) += 1;
		return firewall->accepts_other;
	default:
		firewall->n_malformed++;
		return false;
	}
}

static void read_chunk(
	struct firewall *firewall, struct rte_mbuf *const *pkts, uint16_t n, uint64_t now_tsc)
{
	for (uint16_t i = 0; i < n && i < AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], const void *));
	for (uint16_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + AHEAD], const void *));
		packet_parse(pkts[i], &firewall->packets[i]);
	}
	if (firewall->tracks)
		find_connections(firewall, n, now_tsc);
	find_rules(firewall, n);
}

static uint16_t firewall_process(void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc)
{
	struct firewall *firewall = state;
	uint16_t kept = 0;

	if (firewall->tracks)
		connections_sweep(&firewall->connections, 2U * n, now_tsc);
	for (uint16_t from = 0; from < n; from += CHUNK) {
		uint16_t n_chunk = RTE_MIN((uint16_t)(n - from), (uint16_t)CHUNK);
		read_chunk(firewall, &pkts[from], n_chunk, now_tsc);
		for (uint16_t i = 0; i < n_chunk; i++)
			if (judge(firewall, i, rte_pktmbuf_pkt_len(pkts[from + i]), now_tsc))
				nf_keep(pkts, from + i, &kept);
	}
	return kept;
}

static void firewall_report(const void *state, struct json *json)
{
	const struct firewall *firewall = state;

	json_object(json, "unjudged");
	json_u64(json, "arp", firewall->n_arp);
	json_u64(json, "other", firewall->n_other);
	json_end(json);
	firewall_counts_report(&firewall->counts, json);
	if (firewall->tracks)
		connections_report(&firewall->connections, json);
	else
		json_null(json, "connections");
}

const struct nf_ops nf_firewall = {
	.name = "firewall",
	.summary = "drop packets by nftables rules and the connections they belong to",
	.options = firewall_options,
	.n_options = RTE_DIM(firewall_options),
	.options_size = sizeof(struct firewall_options),
	.state_size = sizeof(struct firewall),
	.memory = firewall_memory,
	.drops = firewall_drops,
	.n_drops = RTE_DIM(firewall_drops),
	.init = firewall_init,
	.process = firewall_process,
	.report = firewall_report,
	.fini = firewall_fini,
};
