#include "port_interrupt.h"

#include "port_kind.h"

#include <rte_interrupts.h>

#include <errno.h>
#include <string.h>

enum { EVENTS_MAX = 16 };

int port_specs_want_interrupts(struct port_spec *specs, size_t n, struct error *error)
{
	for (size_t i = 0; i < n; i++) {
		if (specs[i].kind->interrupts == PORT_NO_INTERRUPTS)
			return port_fail(&specs[i], -EINVAL, error,
				"ports of kind %s have no receive interrupts; virtio, vhost and "
				"most pci ports do, and --wait poll needs none",
				specs[i].kind->name);
		specs[i].interrupts = true;
	}
	return 0;
}

bool port_listens_late(const struct port *port)
{
	return port->spec.kind->interrupts == PORT_INTERRUPTS_WITH_PEER;
}

int port_listen(struct port *port, struct error *error)
{
	int err = rte_eth_dev_rx_intr_ctl_q(
		port->id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL);

	if (err < 0)
		return port_fail(&port->spec, -EINVAL, error,
			"its driver has no receive interrupts (%s); --wait poll needs none",
			strerror(-err));
	return 0;
}

void ports_arm(struct port *const *ports, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		(void)rte_eth_dev_rx_intr_enable(ports[i]->id, 0);
}

void ports_sleep(int timeout_ms)
{
	struct rte_epoll_event events[EVENTS_MAX];

	(void)rte_epoll_wait_interruptible(RTE_EPOLL_PER_THREAD, events, EVENTS_MAX, timeout_ms);
}

void ports_disarm(struct port *const *ports, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		(void)rte_eth_dev_rx_intr_disable(ports[i]->id, 0);
}
