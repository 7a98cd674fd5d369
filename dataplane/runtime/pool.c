#include "pool.h"

#include <rte_mbuf.h>

enum {
	// net_af_packet refuses less for its frames of 2048; 1518 bytes would do for the others.
	DATA_ROOM = 2432,
	CACHE_SIZE = 256, // larger bursts than any of ours pass it by
	ELEMENT_BYTES = sizeof(struct rte_mbuf) + DATA_ROOM + 128, // header and padding
	LEAST_MB = 64,
	REST_MB = 16, // rings, device data, memzones
};

struct rte_mempool *pool_create(const char *name, unsigned int n_mbufs)
{
	return rte_pktmbuf_pool_create(name, n_mbufs, CACHE_SIZE, 0, DATA_ROOM, SOCKET_ID_ANY);
}

unsigned int pool_memory_mb(unsigned int n_mbufs)
{
	unsigned int mb = REST_MB + (unsigned int)((size_t)n_mbufs * ELEMENT_BYTES >> 20);

	return mb > LEAST_MB ? mb : LEAST_MB;
}
