// The guest's end of a virtio link, without a guest: a process shares its memory with whoever is
// the vhost end (port_vhost.c, a virtual switch, QEMU's vhost-user). Has receive interrupts. As a
// server it is not ready before its peer has come: DPDK 22.11 waits in accept().

#include "port_socket.h"

#include <stdio.h>

static int virtio_devargs(
	const struct port_spec *spec, char *out, size_t out_len, struct error *error)
{
	const struct socket_options *options = (const void *)spec->options;
	struct sockaddr_un address;
	int err = socket_path(spec, &address, error);

	if (err < 0)
		return err;
	snprintf(out, out_len, "path=%s,server=%d,queues=1,queue_size=1024", address.sun_path,
		socket_is_server(spec, options->role));
	return 0;
}

const struct port_kind port_kind_virtio = {
	.name = "virtio",
	.summary = "the guest's end of a virtio link (virtio_user); NAME as memif's; its peer is a "
		   "vhost port",
	.driver = "net_virtio_user",
	.options = socket_specs,
	.n_options = N_SOCKET_SPECS,
	.options_size = sizeof(struct socket_options),
	.interrupts = PORT_INTERRUPTS,
	.shares_memory = true,
	.cost = PORT_COST_WAKES_PEER,
	.may_leave = true, // it ends at a cache line of the ring's descriptors
	.n_mbufs = 2048,
	.check = socket_check,
	.devargs = virtio_devargs,
	.leave = socket_leave_port,
	.open_remedy = "as a client it wants its peer first: start that, or say role=server",
};
