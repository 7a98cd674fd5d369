#include "port_kind.h"

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_DESCRIPTORS = 1024 };

// A name no ethdev has yet.
static void choose_name(struct port *port)
{
	uint16_t id;

	for (unsigned int i = 0; i < RTE_MAX_ETHPORTS; i++) {
		snprintf(port->device, sizeof(port->device), "%s%u", port->spec.kind->driver, i);
		if (rte_eth_dev_get_port_by_name(port->device, &id) < 0)
			return;
	}
}

static int plug_in(struct port *port, struct error *error)
{
	char devargs[2 * PORT_TEXT_MAX];

	choose_name(port);
	int err = port->spec.kind->devargs(&port->spec, devargs, sizeof(devargs), error);

	if (err == 0)
		err = rte_eal_hotplug_add("vdev", port->device, devargs);
	return err;
}

// Have EAL make the virtual device; a PCI device was probed at start.
static int create_device(struct port *port, struct error *error)
{
	const struct port_kind *kind = port->spec.kind;
	int err = 0;

	error->text[0] = '\0';
	if (kind->is_pci)
		snprintf(port->device, sizeof(port->device), "%s", port->spec.name);
	if (kind->devargs != NULL)
		err = plug_in(port, error);
	else if (kind->create != NULL)
		err = kind->create(&port->spec, port->device, sizeof(port->device), &port->id);
	if (kind->create == NULL && err == 0)
		err = rte_eth_dev_get_port_by_name(port->device, &port->id);
	port->is_plugged = err == 0 && !kind->is_pci;
	if (err < 0 && error->text[0] == '\0')
		port_fail(&port->spec, err, error, "driver %s refused it (%s); %s", kind->driver,
			strerror(-err), kind->open_remedy);
	return err;
}

static int start(struct port *port)
{
	int err = rte_eth_dev_start(port->id);

	port->started = err == 0;
	// Probes carry addresses of their own; drivers that have no such mode need none.
	if (port->started)
		(void)rte_eth_promiscuous_enable(port->id);
	return err;
}

bool port_needs_peer(const struct port *port)
{
	const struct port_kind *kind = port->spec.kind;

	return kind->needs_peer != NULL && kind->needs_peer(&port->spec);
}

bool port_may_leave(const struct port *port)
{
	return port->spec.kind->may_leave;
}

// Too many queues are refused here: what a driver says of them is no more than "invalid".
static int configure(struct port *port, const struct rte_eth_dev_info *info,
	const struct rte_eth_conf *conf, struct error *error)
{
	if (port->n_rx_queues > info->max_rx_queues)
		return port_fail(&port->spec, -EINVAL, error,
			"%u receive queues wanted, %u possible; lower --rx-queues",
			port->n_rx_queues, info->max_rx_queues);
	return rte_eth_dev_configure(port->id, port->n_rx_queues, 1, conf);
}

static int start_device(struct port *port, struct rte_mempool *pool, struct error *error)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	uint16_t n_rx = N_DESCRIPTORS, n_tx = N_DESCRIPTORS;

	int err = rte_eth_dev_info_get(port->id, &info);
	if (err < 0)
		return err;
	// All mbufs are of one pool and have one reference: drivers may free them in bulk.
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	conf.intr_conf.rxq = port->spec.interrupts;
	// A virtio end that listens takes its peer in when that interrupts.
	conf.intr_conf.lsc =
		port->spec.kind->shares_memory && (*info.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
	err = configure(port, &info, &conf, error);
	if (err == 0)
		err = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &n_rx, &n_tx);
	port->ring_size =
		port->spec.kind->ring_size != NULL ? port->spec.kind->ring_size(&port->spec) : n_rx;
	for (uint16_t queue = 0; err == 0 && queue < port->n_rx_queues; queue++)
		err = rte_eth_rx_queue_setup(port->id, queue, n_rx, SOCKET_ID_ANY, NULL, pool);
	if (err == 0)
		err = rte_eth_tx_queue_setup(port->id, 0, n_tx, SOCKET_ID_ANY, NULL);
	if (err == 0)
		err = start(port);
	if (err == 0 && port->spec.kind->started != NULL)
		err = port->spec.kind->started(&port->spec, error);
	// The driver says -1 whatever the reason: that the peer is not there yet is the usual one.
	return err == -1 && port_needs_peer(port) ? 0 : err;
}

int port_open(const struct port_spec *spec, struct rte_mempool *pool, struct port **out,
	struct error *error)
{
	// Own cache lines: the hot path reads id.
	struct port *port = aligned_alloc(
		RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof(*port), RTE_CACHE_LINE_SIZE));
	int err;

	if (port == NULL)
		return port_fail(spec, -ENOMEM, error, "out of memory");
	*port = (struct port){
		.id = RTE_MAX_ETHPORTS, .n_rx_queues = spec->n_rx_queues, .spec = *spec};
	err = create_device(port, error);
	if (err < 0)
		goto fail;
	err = start_device(port, pool, error);
	if (err < 0 && error->text[0] == '\0')
		port_fail(spec, err, error, "does not start (%s); %s", strerror(-err),
			spec->kind->open_remedy);
	if (err < 0)
		goto fail;

	*out = port;
	return 0;
fail:
	port_close(port);
	return err;
}

void port_close(struct port *port)
{
	if (port == NULL)
		return;
	if (port->started)
		(void)rte_eth_dev_stop(port->id);
	if (port->is_plugged)
		(void)rte_eal_hotplug_remove("vdev", port->device);
	else if (port->id != RTE_MAX_ETHPORTS)
		(void)rte_eth_dev_close(port->id);
	if (port->id != RTE_MAX_ETHPORTS && port->spec.kind->destroy != NULL)
		port->spec.kind->destroy(&port->spec);
	free(port);
}

void port_leave(struct port *port)
{
	if (port != NULL && port->spec.kind->leave != NULL)
		port->spec.kind->leave(&port->spec);
	else
		port_close(port);
}

static bool is_up(struct port *port)
{
	struct rte_eth_link link = {0};

	if (!port->started && start(port) < 0)
		return false;
	return rte_eth_link_get_nowait(port->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

int port_wait_link(struct port *port, uint64_t timeout_ns, volatile const int *stop)
{
	static const struct timespec pause = {.tv_nsec = 1000000};

	for (uint64_t waited_ns = 0;; waited_ns += (uint64_t)pause.tv_nsec) {
		if (is_up(port))
			return 0;
		if (stop != NULL && *stop)
			return -EINTR;
		if (waited_ns >= timeout_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

void port_drops(const struct port *port, struct port_drops *out)
{
	struct rte_eth_stats stats = {0};

	(void)rte_eth_stats_get(port->id, &stats);
	*out = (struct port_drops){.rx_missed = stats.imissed, .rx_no_mbuf = stats.rx_nombuf};
}
