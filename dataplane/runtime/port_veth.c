// A kernel interface through an AF_PACKET socket with memory-mapped rings. Meant for one end of a
// veth pair, works with any interface.

#include "port_kind.h"

#include <dirent.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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
	KERNEL_FRAME = 2048, // what the kernel keeps beside a frame that is under way, at most
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

static uint16_t veth_ring_size(const struct port_spec *spec)
{
	const struct veth_options *options = (const void *)spec->options;

	return (uint16_t)RTE_MIN(options->framecnt & ~UINT64_C(1), (uint64_t)UINT16_MAX);
}

static bool is_packet_socket_of(int fd, unsigned int index)
{
	struct sockaddr_ll address = {0};
	socklen_t len = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
	       address.sll_family == AF_PACKET && (unsigned int)address.sll_ifindex == index;
}

// By default the kernel lets some 250 small frames of a socket be under way, and leaves the rest in
// the ring until the next call: a queue of the instrument's own, whose last frames no call ever
// sends. With room for the whole ring each call sends all of it. Who may not have that much
// (CAP_NET_ADMIN) gets what net.core.wmem_max allows. The driver does not give its socket, so it is
// found among those of this process.
static int veth_started(const struct port_spec *spec, struct error *error)
{
	const struct veth_options *options = (const void *)spec->options;
	const int bytes = (int)options->framecnt * (FRAME_SIZE + KERNEL_FRAME);
	unsigned int index = if_nametoindex(spec->name);
	DIR *open_files = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (open_files == NULL)
		return port_fail(spec, -errno, error, "/proc/self/fd: %s", strerror(errno));
	while ((entry = readdir(open_files)) != NULL) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		if (is_packet_socket_of(fd, index) &&
			setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
			(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	}
	closedir(open_files);
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
	.ring_size = veth_ring_size,
	.check = veth_check,
	.devargs = veth_devargs,
	.started = veth_started,
	.open_remedy = "is the interface up (`ip link set NAME up`), framecnt too large?",
};
