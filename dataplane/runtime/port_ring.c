// A ring in this process: what is sent on it is received on it. Two ports of one name share it.
// For tests, and as the shortest path there is.

#include "port_kind.h"

#include <rte_ring.h>

#include <errno.h>
#include <string.h>

// The PMD names its rings ETH_RXTX<queue>_<name>; a ring's name has at most 28 characters.
static int ring_devargs(
	const struct port_spec *spec, char *out, size_t out_len, char *error, size_t error_len)
{
	char ring[RTE_RING_NAMESIZE];
	size_t prefix = strlen("ETH_RXTX15_");

	if (strlen(spec->name) + prefix >= sizeof(ring) || strpbrk(spec->name, ":/") != NULL)
		return port_fail(spec, -EINVAL, error, error_len,
			"a ring's name has at most %zu characters, without colon or slash",
			sizeof(ring) - prefix - 1);
	snprintf(ring, sizeof(ring), "ETH_RXTX0_%s", spec->name);
	snprintf(out, out_len, "nodeaction=%s:0:%s", spec->name,
		rte_ring_lookup(ring) == NULL ? "CREATE" : "ATTACH");
	return 0;
}

const struct port_kind port_kind_ring = {
	.name = "ring",
	.summary = "a ring in this process: what is sent on it is received on it",
	.driver = "net_ring",
	.cost = PORT_COST_USER_SPACE,
	.n_mbufs = 1024,
	.devargs = ring_devargs,
	.open_remedy = "is there memory for its 16 rings of 1024?",
};
