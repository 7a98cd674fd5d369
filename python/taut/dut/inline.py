"""What inline intrusion prevention systems between two veth links share: options, life, sums.

Such a device forwards each packet that no rule drops. In mode `forward` it has no rules at all and
in mode `filter` every packet meets them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self, cast

from pydantic import Field, model_validator

from taut.core.cpus import CpuSet
from taut.core.errors import TrialError
from taut.dut.driver import DriverOptions, with_whole_path
from taut.dut.installed import Found, Program, find, missing
from taut.dut.process_dut import ProcessDut
from taut.host.situation import Waiting
from taut.records.documents.json_form import JsonObject
from taut.records.documents.trial import DutStats, PortCounters
from taut.testbed import netlink
from taut.testbed.link import Link
from taut.testbed.placement import BARE
from taut.testbed.process import child
from taut.testbed.scope import RunScope
from taut.testbed.veth_pairs import needs_root

# Thousands of rules take it seconds to read.
_START_S = 120.0


class InlineOptions(DriverOptions):
    """What it does with each packet."""

    mode: Literal["forward", "filter"] = Field(
        "forward", description="forward: no packet is inspected; filter: each meets the rules"
    )
    rules: str = Field(
        "",
        description="file of rules in the program's own language, relative to the experiment's"
        " file; with mode = filter, without it there are none",
    )
    arguments: tuple[str, ...] = Field((), description="further arguments of the program")

    @model_validator(mode="after")
    def _rules_are_met(self) -> Self:
        if self.rules and self.mode == "forward":
            raise ValueError("mode = forward meets no rules; write mode = filter")
        return self

    @property
    def files(self) -> tuple[Path, ...]:
        """Give the file of rules, where there is one."""
        return (Path(self.rules),) if self.rules else ()

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Give the rules with their whole path."""
        return with_whole_path(folder, options, "rules")

    def refuses_placement(self, kind: str) -> str | None:
        """Its program and its files are the host's."""
        return None if kind == BARE else f"its program and rules are the host's, not of a {kind}"


class InlineDriver(ABC):
    """Runs a program as a wire with rules; of each there is what it is told, and what it tells."""

    name: str
    summary: str
    n_links = 2
    link_kinds = ("veth",)
    options_type: type[DriverOptions]
    program: Program
    ready: str
    """A regular expression: it says so in its log once it has both sockets."""
    threads: str
    """Which of its threads take packets."""

    def missing(self, options: DriverOptions) -> str | None:
        """Root, the program, or what it refuses of its options."""
        lacks = needs_root("veth") or missing(self.program)
        return lacks or self._refuses(cast(InlineOptions, options), self._found())

    def version(self) -> str:
        """As the program says."""
        found = find(self.program)
        return "unknown" if found is None else self._versions(*found.versions)

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        return 0

    def waits(self, options: DriverOptions) -> Waiting:  # noqa: ARG002 - an interface
        """Its threads sleep in poll() until a packet is in their ring."""
        return Waiting.SLEEPS

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> Iterator[ProcessDut]:
        """Start it; entered when it takes packets."""
        given = cast(InlineOptions, options)
        log_dir.mkdir(parents=True, exist_ok=True)
        names = [str(link.device_ifname) for link in links]
        with child(
            self.name,
            [self._found().path, *self._arguments(given, log_dir, names), *given.arguments],
            scope=scope,
            cores=cores,
            netns=links[0].device_netns,
            log=log_dir / f"{self.name}.log",
            line_buffered=True,
        ) as process:
            process.wait_ready(self.ready, _START_S)
            dut = ProcessDut(
                process,
                path="veth, AF_PACKET at both ends, a copy between two sockets in the device",
                notes=[f"{self.threads} on core {cores[0]}, its other threads, too"],
                read_stats=lambda: self._counted(links, log_dir, process.log_text()),
            )
            yield dut
            dut.stop()

    def _found(self) -> Found:
        found = find(self.program)
        if found is None:
            raise TrialError(str(missing(self.program)))
        return found

    @abstractmethod
    def _versions(self, *versions: str) -> str:
        """Put what its program says of versions into words."""

    @abstractmethod
    def _refuses(self, options: InlineOptions, found: Found) -> str | None:
        """Have the program read its configuration and rules; give the first that it refuses."""

    @abstractmethod
    def _arguments(
        self, options: InlineOptions, folder: Path, interfaces: Sequence[str]
    ) -> list[str]:
        """Spell what it is to do, with files in `folder`, where its own go, too."""

    @abstractmethod
    def _counted(self, links: Sequence[Link], folder: Path, log: str) -> DutStats | None:
        """Give its counters once it has ended; None: it told none."""


def count_inline(links: Sequence[Link], by_itself: Mapping[str, int], told: JsonObject) -> DutStats:
    """Hold what the links carried to what the device says that it dropped.

    `in` is `out`, `dropped`; `dropped_by` sums up to `dropped`, `other` being what neither the
    device nor a link accounts for. `told` is the device's own words.
    """
    namespace = str(links[0].device_netns)
    ports = {
        name: netlink.link_counters(name, namespace)
        for name in (str(link.device_ifname) for link in links)
    }
    come, out = (sum(port[key] for port in ports.values()) for key in ("rx_packets", "tx_packets"))
    reasons = {name: n for name, n in by_itself.items() if n}
    reasons["link"] = sum(port["tx_dropped"] for port in ports.values())
    reasons["other"] = come - out - sum(reasons.values())
    return DutStats(
        ports=tuple(PortCounters(others={"port": name, **n}) for name, n in ports.items()),
        others={
            "in": come,
            "out": out,
            "dropped": come - out,
            "dropped_by": reasons,
            "told": told,
        },
    )
