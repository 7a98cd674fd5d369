"""What a link is: one packet path between the generator and the device under test."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from taut.core.errors import InputError
from taut.records.documents.json_form import JsonObject
from taut.testbed.scope import RunScope

LinkOptions: TypeAlias = JsonObject
"""What [links.KIND] of an experiment has; each kind checks its own."""

NO_OPTIONS: LinkOptions = {}

# The stations behind the device's two ports: source addresses of taut-generate's frames in
# direction 0 and 1, each the destination of the other (dataplane/generator/probe.c).
STATION_MACS = ("02:74:00:00:00:01", "02:74:00:00:00:02")
STATION_ADDRESSES = ("198.18.0.1", "198.18.0.2")


@dataclass(frozen=True)
class Link:
    """Two ends; each port is named as both binaries read it (`memif:...`, `veth:...`)."""

    kind: str
    generator_port: str
    device_port: str
    generator_netns: str | None = None
    device_netns: str | None = None
    device_ifname: str | None = None
    socket: Path | None = None


class Loopback(NamedTuple):
    """Both ports of the generator with no device between them: the instrument's floor."""

    tx_port: str
    rx_port: str
    netns: str | None


def port_text(kind: str, name: str | Path, **options: str) -> str:
    """Name a port as taut's programs read it: `memif:/run/x.sock,role=server`.

    InputError for a name with a comma, which ends it there.
    """
    if "," in str(name):
        raise InputError(f"port {kind}:{name}: its name has a comma; choose one without")
    return ",".join([f"{kind}:{name}", *(f"{key}={value}" for key, value in options.items())])


def name_in(port: str) -> str:
    """Give what a port's text names, without its kind and options: an interface, a socket."""
    return port.partition(":")[2].partition(",")[0]


class LinkKind(Protocol):
    """One kind of packet path; members are listed in testbed/links."""

    @property
    def name(self) -> str:
        """The word in an experiment file."""
        ...

    @property
    def summary(self) -> str:
        """One line for the documentation; names the packet path."""
        ...

    @property
    def path(self) -> str:
        """The packet path in words, for the report."""
        ...

    @property
    def is_card(self) -> bool:
        """Whether packets go over network cards, which people wire.

        A device and the loopback cannot be measured in turn then.
        """
        ...

    @property
    def crosses_kernel(self) -> bool:
        """Whether the kernel handles each packet, and a trace so has events of each."""
        ...

    @property
    def has_interrupts(self) -> bool:
        """Whether a packet can wake a device that sleeps; of cards, by their driver."""
        ...

    @property
    def outlives_device(self) -> bool:
        """Whether the generator's end stays as it is while the device is replaced."""
        ...

    @property
    def capabilities(self) -> tuple[str, ...] | None:
        """What a container lets its program do (capabilities(7)); None: it takes no such link."""
        ...

    @property
    def trace_events(self) -> str:
        """Which groups of events a trace of it records, as taut-trace's --events; "": all."""
        ...

    def missing(self) -> str | None:
        """Say what this machine lacks and the remedy; None when the link can be made."""
        ...

    def check(self, n: int, options: LinkOptions) -> None:
        """InputError: n links (0: the loopback) cannot be made of these options. Makes nothing."""
        ...

    def open(
        self, scope: RunScope, n: int, options: LinkOptions = NO_OPTIONS
    ) -> AbstractContextManager[Sequence[Link]]:
        """Make n links; they are gone on exit."""
        ...

    def open_loopback(
        self, scope: RunScope, options: LinkOptions = NO_OPTIONS
    ) -> AbstractContextManager[Loopback]:
        """Make the path from the generator to itself."""
        ...
