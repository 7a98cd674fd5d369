"""testpmd: DPDK's test forwarder, the peer every DPDK user knows."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, cast

from pydantic import Field, StrictInt

from taut.core.cpus import CpuSet
from taut.dut.dpdk import (
    HUGEPAGES,
    lcore_arguments,
    memory_arguments,
    port_arguments,
    version_of,
)
from taut.dut.driver import DriverOptions
from taut.dut.process_dut import ProcessDut
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.records.documents.trial import DutStats, PortCounters
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.process import Child, child
from taut.testbed.scope import RunScope

_PROGRAM = "dpdk-testpmd"
_PORT = re.compile(r"Forward statistics for port (\d+)")
_COUNTER = re.compile(r"([RT]X-\w+):\s*(\d+)")


class TestpmdOptions(DriverOptions):
    """Options of dpdk-testpmd besides its ports, cores and memory, which the driver sets."""

    __test__ = False  # the name looks like a test to pytest

    burst: StrictInt = Field(32, ge=1, le=512, description="most packets taken from a port at once")
    forward_mode: Literal["io", "macswap"] = Field(
        "io", description="io: as they are; macswap: with the MAC addresses swapped"
    )
    eal: tuple[str, ...] = Field((), description="further EAL options")


class TestpmdDriver:
    """Runs dpdk-testpmd between two links."""

    __test__ = False

    name = "testpmd"
    summary = "DPDK's testpmd, port to port on one core"
    n_links = 2
    link_kinds = ("memif", "veth", "xdp", "pci")
    options_type: type[DriverOptions] = TestpmdOptions

    def missing(self, options: DriverOptions) -> str | None:  # noqa: ARG002 - an interface
        """The program, when it is not installed."""
        if shutil.which(_PROGRAM) is None:
            return f"{_PROGRAM}: program not found; install it with DPDK (Debian: dpdk-dev)"
        return None

    def version(self) -> str:
        """Of DPDK, as the program says it."""
        return version_of(shutil.which(_PROGRAM))

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        return HUGEPAGES

    def waits(self, options: DriverOptions) -> Waiting:  # noqa: ARG002 - an interface
        """It polls: DPDK's loop."""
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
        """Start it; standard input stays open, or it would end at once."""
        memory, notes = memory_arguments(scope, self.name)
        with child(
            self.name,
            _argv(links, cores[0], cast(TestpmdOptions, options), memory),
            scope=scope,
            cores=cores,
            netns=links[0].device_netns,
            log=log_dir / "testpmd.log",
            keep_stdin_open=True,
            line_buffered=True,
        ) as process:
            process.wait_ready(r"^Press enter to exit")
            dut = ProcessDut(
                process,
                path=LINKS[links[0].kind].path,
                notes=notes,
                read_stats=lambda: _statistics(links[0].kind, process),
            )
            yield dut
            dut.stop()


def _card_arguments(kind: str, options: TestpmdOptions) -> list[str]:
    """Give EAL's arguments of cards: of bursts below 8 vector receive functions give none."""
    if kind != "pci":
        return ["--no-pci"]
    name = "--force-max-simd-bitwidth"  # which EAL takes once
    is_given = any(word.startswith(name) for word in options.eal)
    return [f"{name}=64"] if options.burst < 8 and not is_given else []


def _statistics(kind: str, process: Child) -> DutStats | None:
    # A memif port forgets its counters when the generator leaves, which is before the end.
    return None if kind == "memif" else parse_statistics(process.log_text())


def parse_statistics(log: str) -> DutStats | None:
    """Give the counters of each port that testpmd prints when forwarding stops; None: none."""
    ports: list[dict[str, int | str]] = []
    for line in log.splitlines():
        match = _PORT.search(line)
        if match is not None:
            ports.append({"port": match[1]})
        elif ports and "Accumulated forward statistics" in line:
            break
        elif ports:
            for name, value in _COUNTER.findall(line):
                ports[-1][name.lower().replace("-", "_")] = int(value)
    return DutStats(ports=tuple(PortCounters(others=port) for port in ports)) if ports else None


def _argv(
    links: Sequence[Link], core: int, options: TestpmdOptions, memory: list[str]
) -> list[str]:
    return [
        _PROGRAM,
        # Two EAL threads on one core: the main one only waits for standard input.
        *lcore_arguments(core, 2, Host().nodes()),
        *_card_arguments(links[0].kind, options),
        "--no-telemetry",
        *memory,
        *port_arguments(links),
        *options.eal,
        "--",
        f"--forward-mode={options.forward_mode}",
        f"--burst={options.burst}",
        "--auto-start",
        "--nb-cores=1",
        "--total-num-mbufs=16384",
        # AF_PACKET's slots of 2048 bytes do not fit the default buffers.
        "--mbuf-size=2560",
        "--no-lsc-interrupt",
        # A memif link is up when the generator comes, which waits for this program.
        "--disable-link-check",
    ]
