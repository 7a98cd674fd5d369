"""Links whose ports meet at a socket in the run's folder and share memory: memif, virtio."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from taut.core.errors import InputError
from taut.testbed.link import NO_OPTIONS, Link, LinkOptions, Loopback, port_text
from taut.testbed.scope import RunScope
from taut.testbed.sockets import run_sockets


class SocketLinkKind:
    """Each link is one socket; the device serves, the generator connects. Needs no rights."""

    name: str
    """Also the kind of the generator's port."""
    device_kind: str
    """The kind of the device's."""
    path: str
    is_card = False
    crosses_kernel = False
    has_interrupts = False
    outlives_device = False
    capabilities: tuple[str, ...] | None = ()
    trace_events = ""

    def missing(self) -> str | None:
        """Nothing: a socket in a folder of the run needs neither root nor a kernel's module."""
        return None

    def check(self, n: int, options: LinkOptions) -> None:  # noqa: ARG002 - n does not matter
        """It has no options."""
        for key in options:
            raise InputError(f"link {self.name}: unknown option {key!r}; it has none")

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
                    generator_port=port_text(self.name, socket, role="client"),
                    device_port=port_text(self.device_kind, socket, role="server"),
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
            server = port_text(self.device_kind, socket, role="server")
            yield Loopback(server, port_text(self.name, socket, role="client"), None)
