"""How the hops of a chain are joined: each with the next, or all by ports of one switch."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

from taut.dut.polling_switch import counters, memif_port, polling, vhost_port
from taut.dut.process_dut import ProcessDut
from taut.testbed.link import Link, port_text
from taut.testbed.scope import RunScope

PortsOfHop = tuple[str, str]
"""Where packets of direction 0 come in, and where they leave."""


@contextmanager
def joined_in_a_row(
    links: Sequence[Link], n: int, scope: RunScope
) -> Iterator[Sequence[PortsOfHop]]:
    """Name the ports of n hops with shared memory between them; of two the earlier one serves."""
    sockets = [scope.folder / f"hop{i + 1}.sock" for i in range(n - 1)]
    into = [links[0].device_port, *(port_text("memif", s, role="client") for s in sockets)]
    out = [*(port_text("memif", s, role="server") for s in sockets), links[-1].device_port]
    try:
        yield list(zip(into, out, strict=True))
    finally:
        _remove(sockets)


@contextmanager
def joined_by_switch(
    links: Sequence[Link], n: int, core: int, log_dir: Path, scope: RunScope
) -> Iterator[tuple[Sequence[PortsOfHop], ProcessDut]]:
    """Start a switch on the host that the links and n hops are ports of; give theirs, and it.

    A hop serves its sockets, as a guest's QEMU would, and the switch connects.
    """
    sockets = [scope.folder / f"hop{i + 1}{side}.sock" for i in range(n) for side in "ab"]
    ports = [memif_port(i, link.socket) for i, link in enumerate(links)]
    ports += [vhost_port(socket.stem, socket) for socket in sockets]
    with ExitStack() as stack:
        stack.callback(_remove, sockets)
        with scope.at(None):  # the hops alone are placed
            started = polling(ports, flows_through(n), scope=scope, cores=(core,), log_dir=log_dir)
            switch = stack.enter_context(started)
        dut = ProcessDut(
            switch.daemon,
            path="",
            notes=[f"PMD thread of Open vSwitch on core {core}; its other threads, too"],
            ask_stats=lambda: counters(switch),
        )
        stack.callback(dut.stop)
        served = [port_text("virtio", socket, role="server") for socket in sockets]
        yield list(zip(served[::2], served[1::2], strict=True)), dut


def flows_through(n: int) -> str:
    """Lead packets from port 1 through n hops, each of which has two ports from 3 on, to port 2."""
    way = [1, *range(3, 3 + 2 * n), 2]
    both = [*pairwise(way)][::2]
    return "".join(
        f"in_port={a},actions=output:{b}\nin_port={b},actions=output:{a}\n" for a, b in both
    )


def _remove(sockets: Sequence[Path]) -> None:
    for socket in sockets:
        socket.unlink(missing_ok=True)
