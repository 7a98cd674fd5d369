// Ports that need neither root nor another process, opened for real on small pages.

#include "eal.h"
#include "error.h"
#include "pool.h"
#include "port.h"

#include <rte_alarm.h>
#include <rte_ethdev.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	POOL_SIZE = 4095,
	POLLS = 1000000, // until a packet must have come
};

// A word of the user's for EAL; it is the end of its folder.
static char long_prefix[] =
	"--file-prefix=taut-port_test-a-word-of-a-hundred-characters-and-more-as-the-device-"
	"arguments-of-a-network-card-may-be-x";

// No end comes up later, unless the machine stands still.
static const uint64_t link_timeout_ns = UINT64_C(60000000000);

static struct rte_mempool *pool;
static struct eal eal;
static struct error error;

static struct port *opened_with(const char *text, uint16_t n_rx_queues)
{
	struct port_spec spec;
	struct port *port = NULL;

	assert_int_equal(port_spec_parse(text, PORT_DEVICE, &spec, &error), 0);
	spec.n_rx_queues = n_rx_queues;
	if (port_open(&spec, pool, &port, &error) < 0)
		fail_msg("%s", error.text);
	return port;
}

static struct port *opened(const char *text)
{
	return opened_with(text, 1);
}

static void make_numbers(struct rte_mbuf **pkts, uint16_t n)
{
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++)
		*rte_pktmbuf_append(pkts[i], 60) = (char)i;
}

static void send_numbers(struct port *port, uint16_t n)
{
	struct rte_mbuf *pkts[32];

	make_numbers(pkts, n);
	assert_int_equal(port_tx(port, pkts, n), n);
}

static void assert_numbers_arrive(struct port *port, uint16_t n)
{
	struct rte_mbuf *pkts[32];
	uint16_t seen = 0;

	for (int poll = 0; poll < POLLS && seen < n; poll++) {
		uint16_t got = port_rx(port, pkts, 32);
		for (uint16_t i = 0; i < got; i++) {
			assert_int_equal(*rte_pktmbuf_mtod(pkts[i], char *), seen++);
			rte_pktmbuf_free(pkts[i]);
		}
	}
	assert_int_equal(seen, n);
}

static void ring(void *has_rung)
{
	atomic_store((atomic_bool *)has_rung, true);
}

// The driver's interrupt thread takes the server down when its client goes. In two processes nobody
// else does; in one, closing the server meanwhile is a race inside the driver.
static void close_pair(struct port *client, struct port *server)
{
	struct rte_eth_link link = {.link_status = RTE_ETH_LINK_UP};
	atomic_bool has_rung = false;

	port_close(client);
	for (int ms = 0; ms < 60000 && link.link_status == RTE_ETH_LINK_UP; ms++) {
		assert_int_equal(rte_eth_link_get_nowait(server->id, &link), 0);
		usleep(1000);
	}
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	// The link is down first, the rings are freed after; then that thread sees to alarms.
	assert_int_equal(rte_eal_alarm_set(1, ring, &has_rung), 0);
	while (!atomic_load(&has_rung))
		usleep(1000);
	port_close(server);
}

static void test_two_ports_of_one_ring_name_share_it(void **state)
{
	struct port *a = opened("ring:shared");
	struct port *b = opened("ring:shared");

	send_numbers(a, 32);
	assert_numbers_arrive(b, 32);

	port_close(b);
	port_close(a);
}

static void test_ring_is_empty_when_it_is_opened_again(void **state)
{
	struct rte_mbuf *pkt;
	struct port *port = opened("ring:again");

	send_numbers(port, 8);
	port_close(port);
	port = opened("ring:again");

	assert_int_equal(port_rx(port, &pkt, 1), 0);
	port_close(port);
}

static void test_null_port_gives_and_takes_without_end(void **state)
{
	struct rte_mbuf *pkts[32];
	struct port *port = opened("null:x,size=100");

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(port_rx(port, pkts, 32), 32);
		assert_int_equal(pkts[0]->data_len, 100);
		assert_int_equal(port_tx(port, pkts, 32), 32);
	}
	port_close(port);
}

static void test_both_ends_of_a_memif_in_one_process(void **state)
{
	struct rte_mbuf *none[1];
	struct port_drops drops;
	struct port *server = opened("memif:test,role=server");
	struct port *client = opened("memif:test,role=client");

	assert_int_equal(port_wait_link(server, link_timeout_ns, NULL), 0);
	assert_int_equal(port_wait_link(client, link_timeout_ns, NULL), 0);
	send_numbers(client, 32);
	assert_numbers_arrive(server, 32);
	// A client's first poll hands the server empty buffers.
	assert_int_equal(port_rx(client, none, 1), 0);
	send_numbers(server, 32);
	assert_numbers_arrive(client, 32);
	port_drops(server, &drops);
	assert_int_equal(drops.rx_missed + drops.rx_no_mbuf, 0);

	close_pair(client, server);
}

// A switch sends on a queue a thread, none of which need be the first (Open vSwitch).
static void test_every_receive_queue_is_polled(void **state)
{
	enum { N = 16 };
	struct rte_mbuf *pkts[2 * N];
	struct port *server = opened_with("memif:queues,role=server", 1);
	const struct rte_eth_conf conf = {0};

	// No port of taut's sends on two queues: the server becomes such a switch.
	assert_int_equal(rte_eth_dev_stop(server->id), 0);
	assert_int_equal(rte_eth_dev_configure(server->id, 1, 2, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(server->id, 0, 1024, SOCKET_ID_ANY, NULL, pool), 0);
	for (uint16_t queue = 0; queue < 2; queue++)
		assert_int_equal(
			rte_eth_tx_queue_setup(server->id, queue, 1024, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(server->id), 0);
	struct port *client = opened_with("memif:queues,role=client", 2);
	assert_int_equal(port_wait_link(server, link_timeout_ns, NULL), 0);
	assert_int_equal(port_wait_link(client, link_timeout_ns, NULL), 0);
	assert_int_equal(port_rx(client, pkts, 1), 0); // hands the server empty buffers

	make_numbers(pkts, 2 * N);
	assert_int_equal(rte_eth_tx_burst(server->id, 1, pkts, N), N);
	assert_numbers_arrive(client, N);
	assert_int_equal(rte_eth_tx_burst(server->id, 0, pkts + N, N), N);
	assert_int_equal(port_rx(client, pkts, 2 * N), N);
	rte_pktmbuf_free_bulk(pkts, N);

	close_pair(client, server);
}

static void test_more_queues_than_a_device_has_are_refused(void **state)
{
	struct port_spec spec;
	struct port *port = NULL;

	assert_int_equal(port_spec_parse("ring:few", PORT_DEVICE, &spec, &error), 0);
	spec.n_rx_queues = 2;

	assert_int_equal(port_open(&spec, pool, &port, &error), -EINVAL);
	assert_string_equal(error.text,
		"port ring:few: 2 receive queues wanted, 1 possible; lower --rx-queues");
}

static void test_client_may_be_opened_before_its_server(void **state)
{
	struct port *client = opened("memif:late,role=client");

	assert_int_equal(port_wait_link(client, 5000000, NULL), -ETIMEDOUT);
	port_close(client); // in one process the driver wants the listener first
	struct port *server = opened("memif:late,role=server");
	client = opened("memif:late,role=client");

	assert_int_equal(port_wait_link(client, link_timeout_ns, NULL), 0);

	close_pair(client, server);
}

static void test_waiting_for_a_peer_that_does_not_come_ends(void **state)
{
	volatile int stop = 1;
	struct port *port = opened("memif:lonely");

	assert_int_equal(port_wait_link(port, 5000000, NULL), -ETIMEDOUT);
	assert_int_equal(port_wait_link(port, link_timeout_ns, &stop), -EINTR);
	port_close(port);
}

static void test_the_size_of_a_receive_ring_is_known(void **state)
{
	struct port *ring = opened("ring:size");
	struct port *memif = opened("memif:size,rsize=8");

	(void)state;
	assert_int_equal(ring->ring_size, 1024);
	assert_int_equal(memif->ring_size, 256);
	port_close(memif);
	port_close(ring);
}

static void test_port_may_be_closed_before_it_was_opened(void **state)
{
	port_close(NULL);
}

static void test_options_of_eal_are_passed_on_whole(void **state)
{
	(void)state;
	assert_non_null(strstr(eal.runtime_dir, strchr(long_prefix, '=') + 1));
}

static void test_options_of_eal_that_are_too_many_are_refused(void **state)
{
	static char word[] = "-v";
	static char *extra[300];
	const struct eal_config config = {
		.program = "test", .core = -1, .memory_mb = 1, .extra = extra, .n_extra = 300};
	struct eal other;

	(void)state;
	for (size_t i = 0; i < 300; i++)
		extra[i] = word;
	assert_int_equal(eal_start(&config, &other, &error), -E2BIG);
	assert_string_equal(
		error.text, "EAL: 300 options behind `--` are too many; leave some out");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_of_eal_are_passed_on_whole),
		cmocka_unit_test(test_options_of_eal_that_are_too_many_are_refused),
		cmocka_unit_test(test_two_ports_of_one_ring_name_share_it),
		cmocka_unit_test(test_ring_is_empty_when_it_is_opened_again),
		cmocka_unit_test(test_null_port_gives_and_takes_without_end),
		cmocka_unit_test(test_both_ends_of_a_memif_in_one_process),
		cmocka_unit_test(test_every_receive_queue_is_polled),
		cmocka_unit_test(test_more_queues_than_a_device_has_are_refused),
		cmocka_unit_test(test_client_may_be_opened_before_its_server),
		cmocka_unit_test(test_waiting_for_a_peer_that_does_not_come_ends),
		cmocka_unit_test(test_the_size_of_a_receive_ring_is_known),
		cmocka_unit_test(test_port_may_be_closed_before_it_was_opened),
	};
	char no_huge[] = "--no-huge";
	char *const extra[] = {no_huge, long_prefix};
	const struct eal_config config = {
		.program = argv[0],
		.core = -1,
		.memory_mb = pool_memory_mb(POOL_SIZE),
		.extra = extra,
		.n_extra = 2,
	};
	char folder[] = "/tmp/port_test.XXXXXX";

	if (mkdtemp(folder) == NULL || setenv("TAUT_RUN_DIR", folder, 1) < 0)
		return 1;
	if (eal_start(&config, &eal, &error) < 0)
		return 77; // Meson: skipped
	pool = pool_create("test", POOL_SIZE);
	int failed = pool != NULL ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	rte_mempool_free(pool);
	eal_stop(&eal);
	return rmdir(folder) < 0 ? 1 : failed; // a socket left behind is a failure
}
