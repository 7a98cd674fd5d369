// A kernel interface through an AF_XDP socket: one queue, copied unless the driver can do better.

#include "port_kind.h"

#include <errno.h>

struct xdp_options {
	uint64_t queue, busy_budget;
	bool force_copy;
};

static const struct option_spec xdp_specs[] = {
	{
		.name = "queue",
		.type = OPTION_UINT,
		.offset = offsetof(struct xdp_options, queue),
		.default_text = "0",
		.help = "receive queue of the interface",
		.max = 255,
	},
	{
		.name = "busy_budget",
		.type = OPTION_UINT,
		.offset = offsetof(struct xdp_options, busy_budget),
		.default_text = "64",
		.help = "packets the kernel may handle in one busy poll; 0: none",
		.max = 65535,
	},
	{
		.name = "force_copy",
		.type = OPTION_FLAG,
		.offset = offsetof(struct xdp_options, force_copy),
		.default_text = "off",
		.help = "copy even where the driver needs not",
	},
};

static int xdp_devargs(const struct port_spec *spec, char *out, size_t out_len, struct error *error)
{
	const struct xdp_options *options = (const void *)spec->options;

	snprintf(out, out_len, "iface=%s,start_queue=%u,queue_count=1,busy_budget=%u%s", spec->name,
		(unsigned int)options->queue, (unsigned int)options->busy_budget,
		options->force_copy ? ",force_copy=1" : "");
	return 0;
}

const struct port_kind port_kind_xdp = {
	.name = "xdp",
	.summary = "a network interface through AF_XDP",
	.driver = "net_af_xdp",
	.options = xdp_specs,
	.n_options = sizeof(xdp_specs) / sizeof(xdp_specs[0]),
	.options_size = sizeof(struct xdp_options),
	.needs_root = true,
	.cost = PORT_COST_SYSTEM_CALLS,
	.may_leave = true, // it asks the kernel again only when all that it knew of was given
	// Fill and completion ring of 2048 each hold the pool's buffers.
	.n_mbufs = 6144,
	.check = port_check_interface,
	.devargs = xdp_devargs,
	.open_remedy =
		"is its queue in use by another AF_XDP socket, or an XDP program left behind "
		"(`ip link set NAME xdp off`)?",
};
