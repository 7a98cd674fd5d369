"""xdp: veth pairs whose device ends are read and written through AF_XDP sockets.

On veth AF_XDP copies (native mode, no zero copy); the generator's ends stay AF_PACKET.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from taut.testbed.link import NO_OPTIONS, Link, LinkOptions, Loopback
from taut.testbed.scope import RunScope
from taut.testbed.veth_pairs import needs_root, refuse_options, veth_loopback, veth_pairs


class XdpLinkKind:
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

    def missing(self) -> str | None:
        return needs_root(self.name)

    def check(self, n: int, options: LinkOptions) -> None:  # noqa: ARG002 - n does not matter
        """It has no options."""
        refuse_options(self.name, options)

    @contextmanager
    def open(
        self, scope: RunScope, n: int, options: LinkOptions = NO_OPTIONS
    ) -> Iterator[Sequence[Link]]:
        """Make n pairs, up and silent."""
        self.check(n, options)
        with veth_pairs(scope, n, kind=self.name, device_port_kind="xdp") as links:
            yield links

    @contextmanager
    def open_loopback(
        self, scope: RunScope, options: LinkOptions = NO_OPTIONS
    ) -> Iterator[Loopback]:
        """One pair in the generator's namespace, AF_PACKET at both ends as with a device."""
        self.check(0, options)
        with veth_loopback(scope) as loopback:
            yield loopback
