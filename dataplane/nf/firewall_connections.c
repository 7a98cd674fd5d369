#include "firewall_connections.h"

#include <rte_errno.h>
#include <rte_jhash.h>
#include <rte_malloc.h>
#include <rte_random.h>
#include <rte_tcp.h>

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum {
	FLAGS = RTE_TCP_FIN_FLAG | RTE_TCP_SYN_FLAG | RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG,
	SYN = RTE_TCP_SYN_FLAG,
	SYN_ACK = RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG,
	FIN_ACK = RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG,
	ACK = RTE_TCP_ACK_FLAG,
	BOTH = 3,
	// Of rte_hash: a key with its data, to 16 bytes; where the next power of two is twice as
	// many, 32 bytes of buckets and of those that extend them, and 9 in rings of free ones.
	KEY_BYTES = 48,
	PLACE_BYTES = KEY_BYTES + 32 + 9 + sizeof(struct connection),
	SPARE_BYTES = 1 << 20,
	RULE_MASK = (1 << 20) - 1, // as wide as they are in struct met_rule
	STATE_MASK = 7,
};

static_assert((int)RULES_MAX <= RULE_MASK && (int)STATE_N - 1 <= STATE_MASK, "of struct met_rule");

static_assert(sizeof(struct connection_key) + sizeof(void *) <= KEY_BYTES, "of rte_hash");

// With its extendable buckets the table takes all the keys it was made for.
static uint32_t n_places(uint32_t n_max)
{
	return RTE_MAX(n_max + n_max / 4, 64U);
}

uint64_t connections_bytes(uint32_t n_max)
{
	return (uint64_t)n_places(n_max) * PLACE_BYTES + SPARE_BYTES;
}

int connections_init(struct connections *out, uint32_t n_max, struct error *error)
{
	char name[RTE_HASH_NAMESIZE];

	*out = (struct connections){.n_max = n_max};
	snprintf(name, sizeof(name), "firewall-%p", (void *)out);
	// A seed that nobody outside knows: keys that share a bucket cannot be sent on purpose.
	const struct rte_hash_parameters parameters = {.name = name,
		.entries = n_places(n_max),
		.key_len = sizeof(struct connection_key),
		.hash_func = rte_jhash,
		.hash_func_init_val = (uint32_t)rte_rand(),
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE};
	out->hash = rte_hash_create(&parameters);
	if (out->hash != NULL) {
		out->n_items = (uint32_t)rte_hash_max_key_id(out->hash) + 1;
		out->items = rte_zmalloc(
			"firewall", out->n_items * sizeof(*out->items), RTE_CACHE_LINE_SIZE);
	}
	if (out->items != NULL)
		return 0;
	error_set(error, "firewall: no memory for %u connections; lower connections", n_max);
	connections_fini(out);
	return -ENOMEM;
}

void connections_fini(struct connections *connections)
{
	rte_hash_free(connections->hash);
	rte_free(connections->items);
	*connections = (struct connections){0};
}

void connections_report(const struct connections *connections, struct json *json)
{
	json_object(json, "connections");
	json_u64(json, "bound", connections->n_max);
	json_u64(json, "most", connections->n_most);
	json_u64(json, "now", connections->n);
	json_u64(json, "begun", connections->n_begun);
	json_u64(json, "expired", connections->n_expired);
	json_end(json);
}

static inline bool is_answer(const struct connection *connection, const struct packet *packet)
{
	return packet->from_second != connection->began_second;
}

static enum rule_state state_of_first(const struct packet *packet)
{
	uint8_t flags = packet->fields.tcp_flags & FLAGS;

	if (packet->track != TRACK_FLOW)
		return STATE_INVALID;
	// A connection may be older than this table: one may begin in its middle.
	if (packet->key.protocol == IPPROTO_TCP && flags != SYN && flags != ACK)
		return STATE_INVALID;
	return STATE_NEW;
}

// Whether a SYN begins another connection in the place of one that has ended: after a RST only who
// began that one may.
static inline bool begins_again(const struct connection *connection, uint8_t flags, bool answer)
{
	return connection->phase == CONNECTION_TCP_CLOSED && flags == SYN &&
	       (!answer || connection->fins == BOTH);
}

// Whether TCP of one side makes sense where the connection stands.
static bool is_tcp_in_turn(const struct connection *connection, uint8_t flags, bool answer)
{
	bool is_opening = connection->phase == CONNECTION_TCP_OPENING && !connection->is_answered;

	if (answer)
		return !(is_opening && flags == FIN_ACK) && !(!is_opening && flags == SYN);
	return flags != SYN_ACK && !(is_opening && (flags == ACK || flags == FIN_ACK));
}

enum rule_state connections_state(const struct connections *connections, int32_t place,
	const struct packet *packet, uint64_t now_tsc)
{
	const struct connection *connection = place < 0 ? NULL : &connections->items[place];
	bool is_known = connection != NULL && connection->expires_tsc > now_tsc;

	if (packet->track == TRACK_NONE)
		return STATE_UNTRACKED;
	if (packet->track == TRACK_ERROR)
		return is_known ? STATE_RELATED : STATE_INVALID;
	if (!is_known || packet->track == TRACK_INVALID)
		return state_of_first(packet);
	bool answer = is_answer(connection, packet);
	if (packet->key.protocol == IPPROTO_TCP) {
		uint8_t flags = packet->fields.tcp_flags & FLAGS;
		if (begins_again(connection, flags, answer))
			return STATE_NEW;
		if (!is_tcp_in_turn(connection, flags, answer))
			return STATE_INVALID;
	}
	return answer || connection->is_answered ? STATE_ESTABLISHED : STATE_NEW;
}

// Whether all that rules compare of a packet is in its key, or in struct met_rule: but for types of
// ICMP and flags of TCP it is.
static inline bool is_known_by_key(
	const struct connections *connections, int32_t place, const struct packet *packet)
{
	uint8_t others = HAS_TYPE | (connections->rules_have_flags ? HAS_TCP_FLAGS : 0);

	return place >= 0 && packet->track == TRACK_FLOW && (packet->fields.has & others) == 0;
}

bool connections_recall_rule(const struct connections *connections, int32_t place,
	const struct packet *packet, uint32_t *rule)
{
	if (!is_known_by_key(connections, place, packet))
		return false;
	const struct met_rule *met = &connections->items[place].met[packet->from_second];
	if (!met->is_set || met->state != packet->fields.state || met->port != packet->fields.port)
		return false;
	*rule = met->rule;
	return true;
}

void connections_keep_rule(
	struct connections *connections, int32_t place, const struct packet *packet, uint32_t rule)
{
	if (is_known_by_key(connections, place, packet))
		connections->items[place].met[packet->from_second] =
			(struct met_rule){.rule = rule & RULE_MASK,
				.state = packet->fields.state & STATE_MASK,
				.port = packet->fields.port,
				.is_set = 1};
}

static void forget(struct connections *connections, int32_t place)
{
	void *key;

	if (rte_hash_get_key_with_position(connections->hash, place, &key) == 0)
		(void)rte_hash_del_key(connections->hash, key);
	connections->items[place].phase = CONNECTION_NONE;
	connections->n--;
	connections->n_changes++;
}

static uint64_t timeout_of(
	const struct connections *connections, const struct connection *connection)
{
	// Who answers no ACK may never have had the connection that it seems to be of.
	bool is_half_open = connection->phase == CONNECTION_TCP && !connection->is_answered;

	return connections->timeouts[is_half_open ? CONNECTION_TCP_OPENING : connection->phase];
}

static void note_tcp(struct connection *connection, const struct packet *packet, bool answer)
{
	uint8_t flags = packet->fields.tcp_flags & FLAGS;

	if (flags & RTE_TCP_FIN_FLAG)
		connection->fins |= packet->from_second ? 2 : 1;
	if (connection->phase == CONNECTION_TCP_OPENING && connection->is_answered && !answer &&
		(flags & RTE_TCP_ACK_FLAG) != 0)
		connection->phase = CONNECTION_TCP;
	if ((flags & RTE_TCP_RST_FLAG) != 0 || connection->fins == BOTH)
		connection->phase = CONNECTION_TCP_CLOSED;
	else if (connection->phase == CONNECTION_TCP && connection->fins != 0)
		connection->phase = CONNECTION_TCP_CLOSING;
}

bool connections_note(struct connections *connections, int32_t place, const struct packet *packet,
	enum rule_state state, uint64_t now_tsc)
{
	struct connection *connection = &connections->items[place];

	if (connection->expires_tsc <= now_tsc) {
		connections->n_expired++;
		forget(connections, place);
		return true;
	}
	if ((packet->track != TRACK_FLOW && packet->track != TRACK_ANSWER) ||
		state == STATE_INVALID)
		return false;
	bool answer = is_answer(connection, packet);
	if (packet->key.protocol == IPPROTO_TCP) {
		uint8_t flags = packet->fields.tcp_flags & FLAGS;
		bool is_again = begins_again(connection, flags, answer);
		// After a refusal nothing is left, either.
		if (is_again || (!connection->is_answered && (flags & RTE_TCP_RST_FLAG) != 0)) {
			forget(connections, place);
			return is_again;
		}
		note_tcp(connection, packet, answer);
	} else if (connection->phase == CONNECTION_UDP && answer) {
		connection->phase = CONNECTION_UDP_ANSWERED;
	}
	connection->is_answered |= answer;
	connection->expires_tsc = now_tsc + timeout_of(connections, connection);
	return false;
}

static enum connection_phase first_phase(const struct packet *packet)
{
	switch (packet->key.protocol) {
	case IPPROTO_TCP:
		return packet->fields.tcp_flags & RTE_TCP_SYN_FLAG ? CONNECTION_TCP_OPENING
								   : CONNECTION_TCP;
	case IPPROTO_UDP:
		return CONNECTION_UDP;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return CONNECTION_ICMP;
	default:
		return CONNECTION_OTHER;
	}
}

bool connections_begin(
	struct connections *connections, const struct packet *packet, uint64_t now_tsc)
{
	if (connections->n >= connections->n_max)
		return false;
	int32_t place = rte_hash_add_key(connections->hash, &packet->key);
	if (place < 0)
		return false;
	struct connection *connection = &connections->items[place];
	*connection = (struct connection){
		.phase = (uint8_t)first_phase(packet),
		.began_second = packet->from_second,
	};
	connection->expires_tsc = now_tsc + timeout_of(connections, connection);
	connections->n++;
	connections->n_begun++;
	connections->n_changes++;
	connections->n_most = RTE_MAX(connections->n_most, (uint64_t)connections->n);
	return true;
}

void connections_sweep(struct connections *connections, uint32_t n, uint64_t now_tsc)
{
	for (; n > 0; n--) {
		const struct connection *connection = &connections->items[connections->cursor];
		if (connection->phase != CONNECTION_NONE && connection->expires_tsc <= now_tsc) {
			connections->n_expired++;
			forget(connections, (int32_t)connections->cursor);
		}
		if (++connections->cursor == connections->n_items)
			connections->cursor = 0;
	}
}
