#pragma once

// What the tests of the forwarder share: EAL on small pages and ring ports. Included once a test
// program, after cmocka.h.

#include "eal.h"
#include "pool.h"
#include "transmit.h"

#include <rte_eal.h>
#include <rte_malloc.h>

#include <stdlib.h>

enum {
	TEST_POOL_SIZE = 2047,
	TEST_TSC_HZ = 1000000000, // a tick is a nanosecond
};

static struct rte_mempool *test_pool;
static struct eal test_eal;
static struct error test_error;

// Exits with 77, which Meson takes for skipped, where EAL cannot start.
static inline void test_env_start(char *program)
{
	char no_huge[] = "--no-huge";
	char *const extra[] = {no_huge};
	const struct eal_config config = {
		.program = program,
		.core = -1,
		.memory_mb = pool_memory_mb(TEST_POOL_SIZE),
		.extra = extra,
		.n_extra = 1,
	};

	if (eal_start(&config, &test_eal, &test_error) < 0)
		exit(77);
	test_pool = pool_create("test", TEST_POOL_SIZE);
	if (test_pool == NULL)
		exit(77);
}

static inline void test_env_stop(void)
{
	rte_mempool_free(test_pool);
	eal_stop(&test_eal);
}

static inline struct port *test_port(const char *text)
{
	struct port_spec spec;
	struct port *port = NULL;

	if (port_spec_parse(text, PORT_DEVICE, &spec, &test_error) < 0 ||
		port_open(&spec, test_pool, &port, &test_error) < 0)
		fail_msg("%s", test_error.text);
	return port;
}

static inline void test_packets(struct rte_mbuf **pkts, uint16_t n)
{
	assert_int_equal(rte_pktmbuf_alloc_bulk(test_pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++)
		*rte_pktmbuf_append(pkts[i], 60) = (char)i;
}

// What lies in a ring port, freed. Fails where the numbers do not go up by one from first.
static inline uint16_t test_drain(struct port *port, char first)
{
	struct rte_mbuf *pkt;
	uint16_t n = 0;

	for (; port_rx(port, &pkt, 1) == 1; n++) {
		assert_int_equal(*rte_pktmbuf_mtod(pkt, char *), (char)(first + (char)n));
		rte_pktmbuf_free(pkt);
	}
	return n;
}

static inline void assert_nothing_leaked(void)
{
	assert_int_equal(rte_mempool_avail_count(test_pool), TEST_POOL_SIZE);
}
