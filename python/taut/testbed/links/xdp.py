"""xdp: veth pairs whose device ends are read and written through AF_XDP sockets.

On veth AF_XDP copies (native mode, no zero copy); the generator's ends stay AF_PACKET.
"""

from taut.testbed.veth_pairs import VethPairs


class XdpLinkKind(VethPairs):
    """AF_XDP at the device, AF_PACKET at the generator."""

    name = "xdp"
    summary = "veth pairs between two network namespaces, AF_XDP at the device"
    path = "veth, AF_XDP at the device, AF_PACKET at the generator"
    is_card = False
    crosses_kernel = True
    has_interrupts = False
    outlives_device = False
    # As over veth, locked memory, and CAP_SYS_ADMIN to find its program by number: CAP_BPF and
    # CAP_PERFMON are not enough (bpf(2), BPF_PROG_GET_FD_BY_ID).
    capabilities = ("CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_SYS_ADMIN", "CAP_IPC_LOCK")
    # Each look at an empty ring is a system call: millions a second, whose events fill every buffer
    # and take longer than the calls.
    trace_events = "-syscalls"
