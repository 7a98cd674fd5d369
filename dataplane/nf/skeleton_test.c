#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "nf_test_env.h"

static sigjmp_buf before_the_write;

static void go_back(int number)
{
	siglongjmp(before_the_write, 1);
}

static void test_frames_stay_as_they_are(void **state)
{
	unsigned char frame[TEST_FRAME_LEN];
	struct rte_mbuf *pkts[3];
	struct test_nf nf;

	assert_int_equal(test_nf_create(&nf, "skeleton", NULL, 2), 0);
	test_burst(pkts, 3);
	memset(frame, 0x5a, sizeof(frame));
	for (uint16_t i = 0; i < 3; i++)
		memcpy(rte_pktmbuf_mtod(pkts[i], void *), frame, sizeof(frame));

	assert_int_equal(nf.ops->process(nf.state, pkts, 3, 0), 3);

	for (uint16_t i = 0; i < 3; i++)
		assert_memory_equal(rte_pktmbuf_mtod(pkts[i], void *), frame, sizeof(frame));
	rte_pktmbuf_free_bulk(pkts, 3);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

// A frame on a page that may be read alone: who only reads it gets by.
static void test_the_header_is_written(void **state)
{
	const struct sigaction action = {.sa_handler = go_back};
	struct rte_mbuf pkt, *pkts[] = {&pkt};
	struct sigaction before;
	struct test_nf nf;
	volatile bool was_refused = true;

	// Its first member has no size: no initializer suits all compilers.
	memset(&pkt, 0, sizeof(pkt));
	assert_int_equal(test_nf_create(&nf, "skeleton", NULL, 2), 0);
	pkt.buf_addr = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pkt.buf_addr != MAP_FAILED);
	sigaction(SIGSEGV, &action, &before);
	if (sigsetjmp(before_the_write, 1) == 0) {
		(void)nf.ops->process(nf.state, pkts, 1, 0);
		was_refused = false;
	}
	sigaction(SIGSEGV, &before, NULL);

	assert_true(was_refused);
	munmap(pkt.buf_addr, 4096);
	test_nf_destroy(&nf);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_stay_as_they_are),
		cmocka_unit_test(test_the_header_is_written),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_env_stop();
	return failed;
}
