#pragma once

// What the tests of network functions share: EAL on small pages, a pool whose leaks show, and one
// function with its state. Included once a test program, after cmocka.h.

#include "nf_table.h"

#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TEST_POOL_SIZE = 511,
	TEST_FRAME_LEN = 60,
	TEST_TSC_HZ = 2600000000,
	TEST_HOLD_MAX = 64,
};

static struct rte_mempool *test_pool;
static struct error test_error;

// Needs no root, no huge pages, no device. Skips the program (77 to Meson) where EAL cannot start.
static inline void test_env_start(char *program)
{
	char prefix[32];
	char *argv[] = {program, (char *)"--no-huge", (char *)"--no-shconf", (char *)"--no-pci",
		(char *)"--no-telemetry", (char *)"-m", (char *)"256",
		(char *)"--log-level=*:critical", (char *)"--file-prefix", prefix};

	snprintf(prefix, sizeof(prefix), "taut-test-%d", (int)getpid());
	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) < 0)
		exit(77);
	test_pool = rte_pktmbuf_pool_create("test", TEST_POOL_SIZE, 0, 0, 2176, SOCKET_ID_ANY);
	if (test_pool == NULL)
		exit(77);
}

static inline void test_env_stop(void)
{
	char folder[256];

	snprintf(folder, sizeof(folder), "%s", rte_eal_get_runtime_dir());
	rte_mempool_free(test_pool);
	rte_eal_cleanup();
	(void)rmdir(folder);
}

struct test_nf {
	const struct nf_ops *ops;
	void *state;
};

// Returns init's result; test_error holds its line.
static inline int test_nf_create(
	struct test_nf *nf, const char *name, const char *options_text, uint16_t n_ports)
{
	const struct nf_env env = {
		.tsc_hz = TEST_TSC_HZ, .n_ports = n_ports, .hold_max = TEST_HOLD_MAX};
	uint64_t options[32] = {0};

	nf->ops = nf_find(name);
	assert_non_null(nf->ops);
	assert_true(nf->ops->options_size <= sizeof(options));
	nf->state = rte_zmalloc(NULL, nf->ops->state_size + 1, RTE_CACHE_LINE_SIZE);
	int err = option_parse_list(
		name, nf->ops->options, nf->ops->n_options, options_text, options, &test_error);
	if (err == 0 && nf->ops->init != NULL)
		err = nf->ops->init(nf->state, options, &env, &test_error);
	if (err < 0)
		rte_free(nf->state);
	return err;
}

static inline void test_nf_destroy(struct test_nf *nf)
{
	if (nf->ops->fini != NULL)
		nf->ops->fini(nf->state);
	rte_free(nf->state);
}

// A burst from port 0 that leaves by port 1, unless a function says otherwise; each packet knows
// its number.
static inline void test_burst(struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		pkts[i] = rte_pktmbuf_alloc(test_pool);
		assert_non_null(pkts[i]);
		char *frame = rte_pktmbuf_append(pkts[i], TEST_FRAME_LEN);
		memset(frame, 0, TEST_FRAME_LEN);
		frame[TEST_FRAME_LEN - 1] = (char)i;
		pkts[i]->port = 0;
		nf_set_egress(pkts[i], 1);
	}
}

static inline uint16_t test_number(const struct rte_mbuf *pkt)
{
	return rte_pktmbuf_mtod(pkt, unsigned char *)[TEST_FRAME_LEN - 1];
}

static inline void assert_nothing_leaked(void)
{
	assert_int_equal(rte_mempool_avail_count(test_pool), TEST_POOL_SIZE);
}
