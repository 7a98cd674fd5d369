"""vhost: a virtio link whose device is a guest's card, and whose host's end is the generator.

The virtio link the other way round: there the device is the host. QEMU serves the socket, so that a
guest outlives the generators of one trial after the other.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from taut.testbed.link import NO_OPTIONS, LinkOptions, Loopback, port_text
from taut.testbed.scope import RunScope
from taut.testbed.socket_link import SocketLinkKind
from taut.testbed.sockets import run_sockets


class VhostLinkKind(SocketLinkKind):
    """The generator is the host's end (net_vhost), the device a guest's card, made by QEMU."""

    name = "vhost"
    device_kind = "virtio"
    summary = "virtio rings between the generator (DPDK net_vhost) and a guest's card (vhost-user)"
    path = "virtio, a guest's card at the device, vhost-user at the generator"
    has_interrupts = True
    capabilities = None

    @contextmanager
    def open_loopback(
        self, scope: RunScope, options: LinkOptions = NO_OPTIONS
    ) -> Iterator[Loopback]:
        """Both ends in the generator; its own vhost end serves, as nobody else is there to wait."""
        self.check(0, options)
        with run_sockets(scope, "floor") as (socket,):
            server = port_text(self.name, socket, role="server")
            yield Loopback(server, port_text(self.device_kind, socket, role="client"), None)
