"""ovs_dpdk: Open vSwitch's datapath in user space, a DPDK thread that polls two memif ports."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pydantic import Field, field_validator

from taut.core.cpus import CpuSet
from taut.core.errors import TrialError
from taut.dut.dpdk import PATH_WORDS, free_hugepages
from taut.dut.driver import DriverOptions
from taut.dut.installed import find
from taut.dut.open_vswitch import STRAIGHT, WITH_DPDK, Port, Switch, missing_switch, switching
from taut.dut.process_dut import ProcessDut
from taut.host.situation import Waiting
from taut.records.documents.trial import DutStats, PortCounters
from taut.testbed.link import Link
from taut.testbed.placement import BARE
from taut.testbed.scope import RunScope
from taut.testbed.veth_pairs import needs_root

# Its packet buffers: it asks for ever fewer until they fit, and wants 16,384 of 3 KB at least.
_MEMORY_MB = 128
_HUGEPAGES = _MEMORY_MB // 2

_PORT = re.compile(r"port \d+: (p[01]) .*?\n(.*?)(?=\n  port |\Z)", re.DOTALL)
_COUNTER = re.compile(r"(RX|TX) packets:(\d+) errors:(\d+) dropped:(\d+)")
_THREAD = re.compile(r"^(pmd|main) thread.*\n((?:^ .*\n?)*)", re.MULTILINE)
_LINE = re.compile(r"^  ([a-z][a-z .]*): (\d+)$", re.MULTILINE)


class OvsDpdkOptions(DriverOptions):
    """What the switch is told besides its ports, core and memory, which the driver sets."""

    flows: str = Field(
        "",
        description="file of OpenFlow flows as for ovs-ofctl, ports 1 and 2, relative to the"
        " experiment's file; without it, from each port to the other",
    )
    other_config: tuple[str, ...] = Field(
        (), description="settings of the switch, KEY=VALUE: smc-enable=true"
    )

    @field_validator("other_config")
    @classmethod
    def _are_settings(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if not re.fullmatch(r"[a-z0-9-]+=\S+", value):
                raise ValueError(f"{value!r} is no setting; write smc-enable=true")
        return values

    @property
    def files(self) -> tuple[Path, ...]:
        """Give the file of flows, where there is one."""
        return (Path(self.flows),) if self.flows else ()

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Give the flows with their whole path."""
        flows = options.get("flows")
        if not isinstance(flows, str) or not flows:
            return dict(options)
        return {**options, "flows": os.path.normpath(folder / flows)}

    def refuses_placement(self, kind: str) -> str | None:
        """Its database, its tools and its namespace are the host's."""
        return None if kind == BARE else f"its database and bridge are the host's, not of a {kind}"

    def peer_rx_queues(self, link: str) -> int:  # noqa: ARG002 - it has one link kind
        """Two: it sends on a queue a thread, and its main thread is one."""
        return 2


class OvsDpdkDriver:
    """Runs an Open vSwitch of the trial's own between two memif links."""

    name = "ovs_dpdk"
    summary = "Open vSwitch with DPDK over memif, its polling thread on the device's core"
    n_links = 2
    link_kinds = ("memif",)
    options_type: type[DriverOptions] = OvsDpdkOptions

    def missing(self, options: DriverOptions) -> str | None:
        """Root, the program, or what is wrong with the flows."""
        flows = cast(OvsDpdkOptions, options).flows
        return needs_root("of ovs_dpdk") or missing_switch(WITH_DPDK, flows)

    def version(self) -> str:
        """Of the switch, and of the DPDK it is linked with."""
        found = find(WITH_DPDK)
        return "unknown" if found is None else "Open vSwitch {}, DPDK {}".format(*found.versions)

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        return _HUGEPAGES

    def waits(self, options: DriverOptions) -> Waiting:  # noqa: ARG002 - an interface
        """Its PMD thread polls."""
        return Waiting.POLLS

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> Iterator[ProcessDut]:
        """Start it; entered when its flows are set. Its bridge needs a namespace of its own."""
        given = cast(OvsDpdkOptions, options)
        found = find(WITH_DPDK)
        if found is None or free_hugepages() < _HUGEPAGES:
            raise TrialError(
                f"ovs_dpdk: {_HUGEPAGES} hugepages of 2 MB wanted, {free_hugepages()} free; "
                "free some memory"
            )
        with (
            scope.namespace("ovs") as netns,
            switching(
                found.path,
                [Port(f"p{i}", _memif(i, link)) for i, link in enumerate(links)],
                datapath="netdev",
                other_config=(*_settings(cores[0]), *given.other_config),
                flows=Path(given.flows).read_text(encoding="utf-8") if given.flows else STRAIGHT,
                scope=scope,
                cores=cores,
                netns=netns,
                log_dir=log_dir,
            ) as switch,
        ):
            dut = ProcessDut(
                switch.daemon,
                path=PATH_WORDS[links[0].kind],
                notes=[f"PMD thread of Open vSwitch on core {cores[0]}; its other threads, too"],
                ask_stats=lambda: counters(switch),
            )
            yield dut
            dut.stop()


def counters(switch: Switch) -> DutStats:
    """Give what each flow took, what the polling threads handled, and what could not be sent."""
    return read_counters(
        switch.flows(), switch.ask("dpif-netdev/pmd-stats-show"), switch.ask("dpctl/show", "-s")
    )


def read_counters(flows: Mapping[str, int], threads: str, ports: str) -> DutStats:
    """Read the switch's answers.

    What a memif port counted itself is gone with the generator, so `in` is what threads received.
    """
    seen: dict[str, int] = {}
    for thread in _THREAD.finditer(threads):
        for name, n in _LINE.findall(thread[2]):
            seen[name] = seen.get(name, 0) + int(n)
    found = {port[1]: _COUNTER.findall(port[2]) for port in _PORT.finditer(ports)}
    dropped = {name: int(tx[3]) for name, (_, tx) in found.items()}
    return DutStats(
        ports=tuple(
            PortCounters(others={"port": name, "tx_dropped": n}) for name, n in dropped.items()
        ),
        others={
            "in": seen.get("packets received", 0),
            "dropped": sum(dropped.values()),
            "flows": dict(flows),
            "look_ups": {
                name: n for name, n in seen.items() if name.endswith("hits") or "upcall" in name
            },
        },
    )


def _settings(core: int) -> list[str]:
    mask = f"{1 << core:#x}"
    return [
        "dpdk-init=true",
        f"pmd-cpu-mask={mask}",
        f"dpdk-lcore-mask={mask}",
        f"dpdk-socket-mem={_MEMORY_MB // 2}",
        f"dpdk-socket-limit={_MEMORY_MB}",
        'dpdk-extra="--in-memory --no-pci --no-telemetry"',
    ]


def _memif(number: int, link: Link) -> tuple[str, ...]:
    device = f"net_memif{number},role=server,id=0,socket={link.socket},socket-abstract=no"
    return ("type=dpdk", f'options:dpdk-devargs="{device}"')
