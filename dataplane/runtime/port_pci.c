// A network card by its PCI address, bound to vfio-pci (or driven beside the kernel, as mlx5).
// EAL probes it at start: eal.c passes -a.

#include "port_kind.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// As the kernel writes it and testbed/links/pci.py reads it.
static bool is_address(const char *name)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	size_t n = strspn(name, hex); // of the domain; behind VMD it has more than four
	const char *rest = name + n;

	return n >= 4 && n <= 8 && strlen(rest) == strlen(":3b:00.0") && rest[0] == ':' &&
	       strspn(rest + 1, hex) == 2 && rest[3] == ':' && strspn(rest + 4, hex) == 2 &&
	       rest[6] == '.' && rest[7] >= '0' && rest[7] <= '7';
}

static int pci_check(const struct port_spec *spec, const struct port_spec *earlier,
	size_t n_earlier, struct error *error)
{
	char path[PORT_TEXT_MAX + 32];

	if (!is_address(spec->name))
		return port_fail(spec, -EINVAL, error, "no PCI address; write it as 0000:3b:00.0");
	for (size_t i = 0; i < n_earlier; i++)
		if (earlier[i].kind == spec->kind && strcmp(earlier[i].name, spec->name) == 0)
			return port_fail(spec, -EADDRINUSE, error,
				"named twice; each port needs its own device");
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", spec->name);
	if (access(path, F_OK) < 0)
		return port_fail(spec, -ENODEV, error,
			"no such device; `dpdk-devbind.py --status-dev net` lists them");
	return 0;
}

const struct port_kind port_kind_pci = {
	.name = "pci",
	.summary = "a network card by its PCI address",
	.driver = "of the device",
	.is_pci = true,
	.needs_root = true,
	.interrupts = PORT_INTERRUPTS, // perhaps: by its driver
	.cost = PORT_COST_USER_SPACE,
	.may_leave = true, // by its driver: in fours, or first what is staged
	.n_mbufs = 2048,
	.check = pci_check,
	.open_remedy = "is it bound to vfio-pci (`dpdk-devbind.py --bind vfio-pci`), and is DPDK's "
		       "driver for it installed (Debian: librte-meta-net)?",
};
