"""veth: two pairs of virtual Ethernet links, read and written through AF_PACKET sockets.

The generator's ends are in one network namespace and the device's in another, so that no service
of the host sees or sends frames on them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from taut.testbed.link import NO_OPTIONS, Link, LinkOptions, Loopback
from taut.testbed.scope import RunScope
from taut.testbed.veth_pairs import needs_root, refuse_options, veth_loopback, veth_pairs


class VethLinkKind:
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
        with veth_pairs(scope, n, kind=self.name, device_port_kind="veth") as links:
            yield links

    @contextmanager
    def open_loopback(
        self, scope: RunScope, options: LinkOptions = NO_OPTIONS
    ) -> Iterator[Loopback]:
        """One pair, both ends in the generator's namespace."""
        self.check(0, options)
        with veth_loopback(scope) as loopback:
            yield loopback
