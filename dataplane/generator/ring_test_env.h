#pragma once

// What the tests of sender and loop share: EAL on small pages, a ring port that is both ends, and a
// departure every 40 us of a clock of 1 GHz; this machine's may be faster. Included once a test
// program, after cmocka.h.

#include "eal.h"
#include "pool.h"
#include "port.h"
#include "traffic.h"

#include <stdlib.h>

enum { N_MBUFS = 2047, TSC_HZ = 1000000000 };

static struct eal eal;
static struct rte_mempool *pool;
static struct port *port;

// Exits with 77, which Meson takes for skipped, where EAL cannot start.
static inline void env_start(char *program)
{
	char no_huge[] = "--no-huge";
	char *const extra[] = {no_huge};
	const struct eal_config config = {
		.program = program,
		.core = -1,
		.memory_mb = pool_memory_mb(N_MBUFS),
		.extra = extra,
		.n_extra = 1,
	};
	struct port_spec spec;
	struct error error;

	if (eal_start(&config, &eal, &error) < 0)
		exit(77);
	pool = pool_create("test", N_MBUFS);
	if (pool == NULL)
		exit(77);
	assert_int_equal(port_spec_parse("ring:r", PORT_GENERATOR, &spec, &error), 0);
	assert_int_equal(port_open(&spec, pool, &port, &error), 0);
}

static inline void env_stop(void)
{
	port_close(port);
	rte_mempool_free(pool);
	eal_stop(&eal);
}

static inline struct traffic *constant_traffic(void)
{
	static const struct traffic_rate rate = {.packets = 1, .per_ns = 40000};
	struct frame_mix mix = {0};
	struct traffic *traffic;
	struct error error;

	assert_int_equal(frame_mix_parse(&mix, "64", &error), 0);
	assert_int_equal(traffic_create("constant", &rate, &mix, 1, 1, &traffic, &error), 0);
	return traffic;
}
