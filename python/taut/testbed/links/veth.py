"""veth: two pairs of virtual Ethernet links, read and written through AF_PACKET sockets.

The generator's ends are in one network namespace and the device's in another, so that no service
of the host sees or sends frames on them.
"""

from taut.testbed.veth_pairs import VethPairs


class VethLinkKind(VethPairs):
    """AF_PACKET at both ends; also what a kernel device (a bridge) is attached by."""

    name = "veth"
    summary = "veth pairs between two network namespaces, AF_PACKET at both ends"
    path = "veth, AF_PACKET at both ends"
    is_card = False
    crosses_kernel = True
    has_interrupts = False
    outlives_device = True
    # Raw sockets, and the flags of the interface.
    capabilities = ("CAP_NET_RAW", "CAP_NET_ADMIN")
    trace_events = ""
