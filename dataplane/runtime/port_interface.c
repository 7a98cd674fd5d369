// What veth and xdp share: their name is a network interface of this network namespace.

#include "port_kind.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

int port_check_interface(const struct port_spec *spec, const struct port_spec *earlier,
	size_t n_earlier, struct error *error)
{
	for (size_t i = 0; i < n_earlier; i++)
		if (earlier[i].kind->check == spec->kind->check ||
			earlier[i].kind->cost == PORT_COST_SYSTEM_CALLS) {
			if (strcmp(earlier[i].name, spec->name) == 0)
				return port_fail(spec, -EADDRINUSE, error,
					"the interface of %s; each port needs its own",
					earlier[i].text);
		}
	if (if_nametoindex(spec->name) == 0)
		return port_fail(spec, -ENODEV, error,
			"no interface %s in this network namespace; see `ip link`", spec->name);
	return 0;
}
