"""pci: real NICs, wired by the user; never tried on a machine without them.

Options name the ports in the order of the cables: `generator = ["0000:3b:00.0", ...]` and
`device = [...]`, generator[i] wired to device[i]. Both are already bound to a driver DPDK can use
(vfio-pci). For the loopback, generator[0] and generator[1] are wired to each other.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from taut.core.errors import InputError
from taut.testbed.link import NO_OPTIONS, Link, LinkOptions, Loopback, port_text
from taut.testbed.scope import RunScope

# As dataplane/runtime/port_pci.c reads it; behind VMD a domain has more than four digits.
_ADDRESS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_DEVICES = Path("/sys/bus/pci/devices")
_NOT_TOLD = -1  # what the kernel says where the firmware tells no node


class PciLinkKind:
    """Two pairs of NIC ports."""

    name = "pci"
    summary = "NIC ports wired by the user, bound to vfio-pci"
    path = "NIC ports"
    is_card = True
    crosses_kernel = False
    has_interrupts = True
    outlives_device = False
    capabilities = None
    trace_events = ""

    def missing(self) -> str | None:
        """Ask for root; whether the ports are there depends on the options: see check."""
        if os.geteuid() != 0:
            return "link pci: NICs need root; run as root or use memif"
        return None

    def check(self, n: int, options: LinkOptions) -> None:
        """Whether the ports are there; of the loopback the generator's two."""
        sides = {"generator": n, "device": n} if n else {"generator": 2}
        for side, wanted in sides.items():
            addresses(options, side, wanted)

    @contextmanager
    def open(
        self,
        scope: RunScope,  # noqa: ARG002 - NICs are there without a run
        n: int,
        options: LinkOptions = NO_OPTIONS,
    ) -> Iterator[Sequence[Link]]:
        """Name the ports; nothing is made, so nothing is left."""
        generator, device = (addresses(options, side, n) for side in ("generator", "device"))
        yield [
            Link(self.name, port_text("pci", ours), port_text("pci", theirs))
            for ours, theirs in zip(generator, device, strict=True)
        ]

    @contextmanager
    def open_loopback(
        self,
        scope: RunScope,  # noqa: ARG002 - NICs are there without a run
        options: LinkOptions = NO_OPTIONS,
    ) -> Iterator[Loopback]:
        """Name the generator's two ports."""
        tx, rx = addresses(options, "generator", 2)
        yield Loopback(port_text("pci", tx), port_text("pci", rx), None)


def addresses(options: LinkOptions, side: str, n: int, devices: Path = _DEVICES) -> list[str]:
    """Check n PCI addresses of one side of the options."""
    wired: dict[str, Sequence[object]] = {}
    for key, value in options.items():
        if key not in {"generator", "device"}:
            raise InputError(f"link pci: unknown option {key!r}; it has generator and device")
        if not isinstance(value, list | tuple):
            raise InputError(f"link pci: {key}: {n} PCI addresses wanted, got {value!r}")
        wired[key] = value
    found = wired.get(side, ())
    if len(found) < n:
        raise InputError(f"link pci: {side}: {n} PCI addresses wanted, got {list(found)}")
    for address in found:
        if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
            raise InputError(f"link pci: {address!r} is no PCI address; write 0000:3b:00.0")
        if not (devices / address).exists():
            raise InputError(f"link pci: {address}: no such device; `lspci -D` lists them")
    return [str(address) for address in found[:n]]


def nodes_of_cards(options: LinkOptions, devices: Path = _DEVICES) -> dict[str, int]:
    """Give the NUMA node of each side's ports, where all are on one and the firmware tells.

    The options need not be checked.
    """
    nodes = {side: _nodes(ports, devices) for side, ports in options.items()}
    return {side: found.pop() for side, found in nodes.items() if len(found) == 1}


def _nodes(ports: object, devices: Path) -> set[int]:
    found = [devices / str(p) / "numa_node" for p in ports] if isinstance(ports, list) else []
    nodes = {int(path.read_text(encoding="ascii")) for path in found if path.is_file()}
    return nodes - {_NOT_TOLD}
