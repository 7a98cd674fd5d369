"""linux_bridge: the kernel's bridge in a namespace, between two veth links.

The kernel forwards where the packet comes from: in the sender's softirq, on the generator's core.
To make it a device of its own, its work is moved to the device's core (option `placement`); the
notes of each trial say how, after reading the setting back.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from platform import release
from typing import Literal, cast

from pydantic import Field

from taut.core.cpus import CpuSet
from taut.dut.driver import DriverOptions
from taut.host.situation import Waiting
from taut.records.documents.trial import DutStats, PortCounters
from taut.testbed import netlink, softirq
from taut.testbed.link import STATION_MACS, Link
from taut.testbed.scope import RunScope
from taut.testbed.veth_pairs import needs_root


class LinuxBridgeOptions(DriverOptions):
    """Where the bridge works."""

    placement: Literal["rps", "threaded", "sender"] = Field(
        "rps",
        description="rps: steered to the device's core; threaded: NAPI threads on that core;"
        " sender: as the kernel does by itself, on the generator's core",
    )


class _RunningBridge:
    """The bridge and its ports in the device's namespace."""

    gaps_file: Path | None = None
    pid: int | None = None

    def __init__(self, namespace: str, name: str, ports: Sequence[str], notes: list[str]) -> None:
        self.path = "veth, kernel bridge, veth; AF_PACKET at the generator"
        self.notes = notes
        self.logs: list[Path] = []
        self._namespace = namespace
        self._name = name
        self._ports = ports
        self._stats: DutStats | None = None

    def alive(self) -> bool:
        return self._name in netlink.links(self._namespace)

    def stop(self) -> DutStats:
        if self._stats is None:
            self._stats = DutStats(
                ports=tuple(
                    PortCounters(
                        others={"port": port, **netlink.link_counters(port, self._namespace)}
                    )
                    for port in self._ports
                )
            )
        return self._stats

    def log_tail(self) -> list[str]:
        return [] if self.alive() else [f"linux_bridge: {self._name} is gone"]


class LinuxBridgeDriver:
    """Builds a bridge over the device's ends of two veth links."""

    name = "linux_bridge"
    summary = "the kernel's bridge over veth, its work moved to the device's core"
    n_links = 2
    link_kinds = ("veth",)
    options_type: type[DriverOptions] = LinuxBridgeOptions

    def missing(self, options: DriverOptions) -> str | None:  # noqa: ARG002 - an interface
        return needs_root("veth")

    def version(self) -> str:
        return f"Linux {release()}"

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        return 0

    def waits(self, options: DriverOptions) -> Waiting:
        """It sleeps: each packet wakes its core; in the sender's softirq nobody is woken."""
        sender = cast(LinuxBridgeOptions, options).placement == "sender"
        return Waiting.POLLS if sender else Waiting.SLEEPS

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,  # noqa: ARG002 - the kernel writes none
        scope: RunScope,
    ) -> Iterator[_RunningBridge]:
        """Build it; entered when it forwards."""
        namespace = str(links[0].device_netns)
        ports = [str(link.device_ifname) for link in links]
        name = scope.link_name("br")
        placement = cast(LinuxBridgeOptions, options).placement
        netlink.add_bridge(name, namespace, dict(zip(ports, STATION_MACS, strict=True)))
        try:
            notes = _place(namespace, ports, cores, placement)
            bridge = _RunningBridge(namespace, name, ports, notes)
            yield bridge
            bridge.stop()
        finally:
            netlink.remove_link(name, namespace)


def _place(namespace: str, ports: Sequence[str], cores: CpuSet, placement: str) -> list[str]:
    if placement == "rps":
        return [softirq.steer_to(namespace, port, cores) for port in ports]
    if placement == "threaded":
        return [softirq.thread_on(namespace, port, cores) for port in ports]
    return ["the bridge works in the sender's softirq, on the generator's core: no device apart"]
