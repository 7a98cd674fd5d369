"""virtio: a virtio link between two processes, as between a guest and its host.

The device is the host's end (vhost-user), which copies the packets, the generator the guest's
(virtio_user): that one would wait for its peer before it is ready. Unlike memif, the device can
sleep until a packet interrupts it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from taut.core.errors import InputError
from taut.testbed.link import NO_OPTIONS, Link, LinkOptions, Loopback, port_text
from taut.testbed.scope import RunScope
from taut.testbed.sockets import run_sockets


class VirtioLinkKind:
    """Each link is one socket in the run's folder; the device serves, the generator connects."""

    name = "virtio"
    summary = "virtio rings between two user-space processes (DPDK virtio_user and net_vhost)"

    def missing(self) -> str | None:
        """Always None: it needs no rights."""
        return None

    def check(self, n: int, options: LinkOptions) -> None:  # noqa: ARG002 - n does not matter
        """It has no options."""
        for key in options:
            raise InputError(f"link virtio: unknown option {key!r}; it has none")

    @contextmanager
    def open(
        self, scope: RunScope, n: int, options: LinkOptions = NO_OPTIONS
    ) -> Iterator[Sequence[Link]]:
        """Name n sockets; the device makes them."""
        self.check(n, options)
        with run_sockets(scope, *(f"link{i}" for i in range(n))) as sockets:
            yield [
                Link(
                    kind=self.name,
                    generator_port=port_text("virtio", socket, role="client"),
                    device_port=port_text("vhost", socket, role="server"),
                    socket=socket,
                )
                for socket in sockets
            ]

    @contextmanager
    def open_loopback(
        self, scope: RunScope, options: LinkOptions = NO_OPTIONS
    ) -> Iterator[Loopback]:
        """Both ends of one socket in the generator's process."""
        self.check(0, options)
        with run_sockets(scope, "floor") as (socket,):
            host = port_text("vhost", socket, role="server")
            yield Loopback(host, port_text("virtio", socket, role="client"), None)
