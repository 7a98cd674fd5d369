// The host's end of a virtio link: it maps the memory of the virtio end (port_virtio.c, a guest)
// and copies packets to and from there. Has receive interrupts, once its peer is there.

#include "port_socket.h"

#include <stdio.h>

static int vhost_devargs(
	const struct port_spec *spec, char *out, size_t out_len, struct error *error)
{
	const struct socket_options *options = (const void *)spec->options;
	struct sockaddr_un address;
	int err = socket_path(spec, &address, error);

	if (err < 0)
		return err;
	snprintf(out, out_len, "iface=%s,client=%d,queues=1", address.sun_path,
		!socket_is_server(spec, options->role));
	return 0;
}

const struct port_kind port_kind_vhost = {
	.name = "vhost",
	.summary = "the host's end of a virtio link (vhost-user); NAME as memif's; its peer is a "
		   "virtio port or a guest",
	.driver = "net_vhost",
	.options = socket_specs,
	.n_options = N_SOCKET_SPECS,
	.options_size = sizeof(struct socket_options),
	.interrupts = PORT_INTERRUPTS_WITH_PEER,
	.cost = PORT_COST_WAKES_PEER,
	.n_mbufs = 0, // its rings are its peer's
	.check = socket_check,
	.devargs = vhost_devargs,
	.leave = socket_leave_port,
	.open_remedy = "is its socket in use, or its folder not writable?",
};
