// A ring in this process: what is sent on it is received on it. Two ports of one name share it.
// For tests, and as the shortest path there is.

#include "port_kind.h"

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include <errno.h>
#include <string.h>

enum { RING_SIZE = 1024 };

static int ring_check(const struct port_spec *spec, const struct port_spec *earlier,
	size_t n_earlier, struct error *error)
{
	size_t longest = RTE_RING_NAMESIZE - strlen("port_") - 1;

	if (strlen(spec->name) > longest)
		return port_fail(spec, -ENAMETOOLONG, error,
			"a ring's name has at most %zu characters", longest);
	return 0;
}

static void ring_name(const struct port_spec *spec, char *out, size_t len)
{
	snprintf(out, len, "port_%.*s", (int)(len - sizeof("port_")), spec->name);
}

// The driver puts "net_ring_" before the name it is given.
static void choose_names(char *out, size_t len, char *device, size_t device_len)
{
	uint16_t id;

	for (unsigned int i = 0; i < RTE_MAX_ETHPORTS; i++) {
		snprintf(out, len, "port%u", i);
		snprintf(device, device_len, "net_ring_%s", out);
		if (rte_eth_dev_get_port_by_name(device, &id) < 0)
			return;
	}
}

static int ring_create(const struct port_spec *spec, char *device, size_t device_len, uint16_t *id)
{
	char name[RTE_RING_NAMESIZE], short_name[16];
	struct rte_ring *ring;

	ring_name(spec, name, sizeof(name));
	ring = rte_ring_lookup(name);
	if (ring == NULL)
		ring = rte_ring_create(
			name, RING_SIZE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (ring == NULL)
		return -rte_errno;
	choose_names(short_name, sizeof(short_name), device, device_len);
	int found = rte_eth_from_rings(short_name, &ring, 1, &ring, 1, rte_socket_id());
	if (found < 0)
		return rte_errno > 0 ? -rte_errno : -ENODEV;
	*id = (uint16_t)found;
	return 0;
}

// The ring itself stays for a port of the same name; its packets do not.
static void ring_destroy(const struct port_spec *spec)
{
	char name[RTE_RING_NAMESIZE];
	void *pkt;

	ring_name(spec, name, sizeof(name));
	struct rte_ring *ring = rte_ring_lookup(name);
	while (ring != NULL && rte_ring_dequeue(ring, &pkt) == 0)
		rte_pktmbuf_free(pkt);
}

const struct port_kind port_kind_ring = {
	.name = "ring",
	.summary = "a ring in this process: what is sent on it is received on it",
	.driver = "net_ring",
	.cost = PORT_COST_USER_SPACE,
	.n_mbufs = RING_SIZE,
	.check = ring_check,
	.create = ring_create,
	.destroy = ring_destroy,
	.open_remedy = "is there memory left?",
};
