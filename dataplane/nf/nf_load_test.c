#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "nf_load.h"
#include "nf_test_env.h"
#include "test_folder.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

enum { FILTERED = 53 };

static const char example[] = OBJECTS "/port_filter.so";

static void assert_refused(const char *text, const char *words)
{
	const struct nf_ops *ops;
	struct error error = {0};
	void *options;

	assert_int_equal(nf_open(text, &ops, &options, &error), -EINVAL);
	if (strstr(error.text, words) == NULL)
		fail_msg("'%s' does not say '%s'", error.text, words);
	assert_null(strchr(error.text, '\n'));
}

static void test_an_object_of_another_version_is_refused(void **state)
{
	assert_refused(OBJECTS "/wrong_abi.so", "of version 3 of taut/nf.h");
	assert_refused(OBJECTS "/wrong_size.so", "(128 bytes), this is version 2 (120 bytes)");
	assert_refused(OBJECTS "/wrong_dpdk.so", "compiled with DPDK ");
}

static void test_an_object_that_lacks_something_is_refused(void **state)
{
	assert_refused(OBJECTS "/wrong_export.so", "end its source with NF_EXPORT");
	assert_refused(OBJECTS "/wrong_symbol.so", "undefined symbol: nobody_has_this");
	assert_refused(OBJECTS "/wrong_process.so", "no process");
	assert_refused(OBJECTS "/wrong_name.so", "no name of a-z");
	assert_refused(OBJECTS "/wrong_release.so", "one of release and n_dropped");
	assert_refused(OBJECTS "/wrong_fini.so", "no fini");
	assert_refused(OBJECTS "/wrong_option.so", "beyond options_size");
	assert_refused(OBJECTS "/wrong_drop.so", "beyond state_size");
}

static void test_what_is_no_shared_object_is_refused(void **state)
{
	char path[PATH_MAX];

	assert_refused("/nonexistent/a.so", "--nf /nonexistent/a.so: No such file or directory");
	assert_refused("nonexistent.so:port=1", "--nf nonexistent.so: No such file or directory");
	assert_refused("nonexistent", "--nf nonexistent: no such network function");
	assert_refused("/tmp", "--nf /tmp: no file");
	snprintf(path, sizeof(path), "%s/a.so", test_folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("no shared object, but some text that is as long as the header of one is", file);
	fclose(file);
	assert_refused(path, "invalid ELF header");
	chmod(path, 0666);
	assert_refused(path, geteuid() == 0 ? "everybody may write to it" : "invalid ELF header");
}

static void test_options_are_read_as_of_taut_s_own(void **state)
{
	char text[PATH_MAX];

	assert_refused(example, "port_filter: port: missing; UDP port");
	snprintf(text, sizeof(text), "%s:prot=1", example);
	assert_refused(text, "port_filter: prot: no such option; accepted are port");
	snprintf(text, sizeof(text), "%s:port=65536", example);
	assert_refused(text, "accepted are 1 to 65535");
	assert_refused("delay:time=5", "delay: time=5");
}

static void open_example(struct test_nf *nf)
{
	const struct nf_env env = {.tsc_hz = TEST_TSC_HZ, .n_ports = 2, .hold_max = TEST_HOLD_MAX};
	char text[PATH_MAX];
	void *options;

	snprintf(text, sizeof(text), "%s:port=%d", example, FILTERED);
	assert_int_equal(nf_open(text, &nf->ops, &options, &test_error), 0);
	nf->state = rte_zmalloc(NULL, nf->ops->state_size, RTE_CACHE_LINE_SIZE);
	assert_int_equal(nf->ops->init(nf->state, options, &env, &test_error), 0);
	free(options);
}

static uint64_t n_dropped_by(const struct test_nf *nf, size_t reason)
{
	return *(const uint64_t *)((const char *)nf->state + nf->ops->drops[reason].offset);
}

// An IPv4 datagram to a UDP port, behind so many bytes of IPv4 header.
static void make_udp(struct rte_mbuf *pkt, uint16_t port, unsigned int ip_len)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ether + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)((char *)ip + ip_len);

	ether->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = (uint8_t)(0x40 + ip_len / 4);
	ip->next_proto_id = IPPROTO_UDP;
	udp->dst_port = rte_cpu_to_be_16(port);
}

static void test_the_example_drops_by_port_and_says_why(void **state)
{
	struct rte_mbuf *pkts[8];
	struct test_nf nf;

	open_example(&nf);
	test_burst(pkts, 8);
	make_udp(pkts[0], FILTERED, 20);
	make_udp(pkts[1], FILTERED + 1, 20);
	make_udp(pkts[2], FILTERED, 24);
	make_udp(pkts[3], FILTERED, 20); // a later fragment has no port
	rte_pktmbuf_mtod_offset(pkts[3], struct rte_ipv4_hdr *, 14)->fragment_offset = RTE_BE16(1);
	make_udp(pkts[4], FILTERED, 60); // a header longer than the frame
	make_udp(pkts[5], FILTERED, 20);
	rte_pktmbuf_mtod_offset(pkts[5], struct rte_ipv4_hdr *, 14)->next_proto_id = IPPROTO_TCP;
	rte_pktmbuf_trim(pkts[6], TEST_FRAME_LEN - 10); // shorter than Ethernet's header

	assert_int_equal(nf.ops->process(nf.state, pkts, 8, 0), 4);

	assert_int_equal(test_number(pkts[0]), 1);
	assert_int_equal(test_number(pkts[1]), 3);
	assert_int_equal(test_number(pkts[2]), 5);
	assert_int_equal(test_number(pkts[3]), 7); // no IPv4
	assert_string_equal(nf.ops->drops[0].reason, "filtered");
	assert_int_equal(n_dropped_by(&nf, 0), 2);
	assert_string_equal(nf.ops->drops[1].reason, "truncated");
	assert_int_equal(n_dropped_by(&nf, 1), 2);
	rte_pktmbuf_free_bulk(pkts, 8);
	test_nf_destroy(&nf);
	assert_nothing_leaked();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_object_of_another_version_is_refused),
		cmocka_unit_test(test_an_object_that_lacks_something_is_refused),
		cmocka_unit_test(test_what_is_no_shared_object_is_refused),
		cmocka_unit_test(test_options_are_read_as_of_taut_s_own),
		cmocka_unit_test(test_the_example_drops_by_port_and_says_why),
	};

	test_env_start(argv[0]);
	int failed = cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
	test_env_stop();
	return failed;
}
