// A kernel interface through an AF_PACKET socket with memory-mapped rings. Meant for one end of a
// veth pair, works with any interface.

#include "port_kind.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

struct veth_options {
	bool qdisc_bypass, shared;
	uint64_t framecnt;
};

static const struct option_spec veth_specs[] = {
	{
		.name = "qdisc_bypass",
		.type = OPTION_FLAG,
		.offset = offsetof(struct veth_options, qdisc_bypass),
		.default_text = "on",
		.help = "send past the kernel's queueing discipline",
	},
	{
		.name = "framecnt",
		.type = OPTION_UINT,
		.offset = offsetof(struct veth_options, framecnt),
		.default_text = "1024",
		.help = "frames in each ring; even",
		.min = 2,
		.max = 65536,
	},
	{
		.name = "shared",
		.type = OPTION_FLAG,
		.offset = offsetof(struct veth_options, shared),
		.default_text = "off",
		.help = "go on though another packet socket reads this interface",
	},
};

enum {
	// The PMD's defaults, written out because blocks must hold whole frames. 2048 bytes a
	// frame less the TPACKET header leave room for 1518.
	FRAME_SIZE = 2048,
	BLOCK_SIZE = 4096,
	ETHERTYPE_ANY = 0x0003, // ETH_P_ALL
};

// Whether a packet socket that sees every packet is bound to the interface (tcpdump, testpmd,
// another taut): it would slow the path, and a second PMD would answer too.
static bool has_packet_socket(unsigned int index)
{
	FILE *file = fopen("/proc/self/net/packet", "re");
	char line[256];
	bool found = false;

	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL) {
		unsigned int protocol, bound;
		if (sscanf(line, "%*s %*u %*u %x %u", &protocol, &bound) == 2)
			found |= protocol == ETHERTYPE_ANY && bound == index;
	}
	fclose(file);
	return found;
}

static int veth_check(const struct port_spec *spec, const struct port_spec *earlier,
	size_t n_earlier, struct error *error)
{
	const struct veth_options *options = (const void *)spec->options;
	int err = port_check_interface(spec, earlier, n_earlier, error);

	if (err < 0)
		return err;
	if (!options->shared && has_packet_socket(if_nametoindex(spec->name)))
		return port_fail(spec, -EADDRINUSE, error,
			"in use: another packet socket reads this interface (`ss -0lp` names it); "
			"stop it, or add shared=on");
	return 0;
}

static int veth_devargs(
	const struct port_spec *spec, char *out, size_t out_len, struct error *error)
{
	const struct veth_options *options = (const void *)spec->options;

	snprintf(out, out_len,
		"iface=%s,qpairs=1,framesz=%d,blocksz=%d,framecnt=%u,qdisc_bypass=%d", spec->name,
		FRAME_SIZE, BLOCK_SIZE, (unsigned int)options->framecnt & ~1U,
		options->qdisc_bypass);
	return 0;
}

const struct port_kind port_kind_veth = {
	.name = "veth",
	.summary = "a network interface through AF_PACKET",
	.driver = "net_af_packet",
	.options = veth_specs,
	.n_options = sizeof(veth_specs) / sizeof(veth_specs[0]),
	.options_size = sizeof(struct veth_options),
	.needs_root = true,
	.cost = PORT_COST_SYSTEM_CALLS,
	.n_mbufs = 1024,
	.check = veth_check,
	.devargs = veth_devargs,
	.open_remedy = "is the interface up (`ip link set NAME up`), framecnt too large?",
};
