// Every kind of port, in the order --describe gives them; NULL at the end.

#include "port_kind.h"

extern const struct port_kind port_kind_memif;
extern const struct port_kind port_kind_veth;
extern const struct port_kind port_kind_xdp;
extern const struct port_kind port_kind_virtio;
extern const struct port_kind port_kind_vhost;
extern const struct port_kind port_kind_ring;
extern const struct port_kind port_kind_null;
extern const struct port_kind port_kind_pci;

const struct port_kind *const port_table[] = {
	&port_kind_memif,
	&port_kind_veth,
	&port_kind_xdp,
	&port_kind_virtio,
	&port_kind_vhost,
	&port_kind_ring,
	&port_kind_null,
	&port_kind_pci,
	NULL,
};
