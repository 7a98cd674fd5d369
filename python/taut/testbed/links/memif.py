"""memif: shared-memory rings between two processes, no kernel in the path."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from taut.core.errors import InputError
from taut.testbed.link import NO_OPTIONS, Link, LinkOptions, Loopback, port_text
from taut.testbed.scope import RunScope
from taut.testbed.sockets import run_sockets


class MemifLinkKind:
    """Each link is one socket in the run's folder; the device serves, the generator connects."""

    name = "memif"
    summary = "shared-memory rings between two user-space processes (DPDK net_memif)"

    def missing(self) -> str | None:
        """Always None: memif needs no rights."""
        return None

    def check(self, n: int, options: LinkOptions) -> None:  # noqa: ARG002 - n does not matter
        """It has no options."""
        for key in options:
            raise InputError(f"link memif: unknown option {key!r}; it has none")

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
                    generator_port=port_text("memif", socket, role="client"),
                    device_port=port_text("memif", socket, role="server"),
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
            server = port_text("memif", socket, role="server")
            yield Loopback(server, port_text("memif", socket, role="client"), None)
