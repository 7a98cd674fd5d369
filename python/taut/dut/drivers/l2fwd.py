"""l2fwd: DPDK's own sample forwarder, its loop unchanged: 32 packets or 100 us."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pydantic import Field

from taut.core.binaries import is_clone
from taut.core.cpus import CpuSet
from taut.core.errors import MissingToolError
from taut.dut.dpdk import (
    HUGEPAGES,
    lcore_arguments,
    memory_arguments,
    port_arguments,
    version_of,
)
from taut.dut.driver import DriverOptions
from taut.dut.process_dut import ProcessDut
from taut.dut.transmit import AS_L2FWD
from taut.host.dpdk import dpdk_version
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.records.documents.trial import DutStats
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.process import child
from taut.testbed.scope import RunScope


class L2fwdOptions(DriverOptions):
    """Options of l2fwd; its buffer of 32 packets and 100 us is fixed in its source."""

    mac_updating: bool = Field(False, description="rewrite MAC addresses as l2fwd does by default")
    eal: tuple[str, ...] = Field((), description="further EAL options")


class L2fwdDriver:
    """Runs DPDK's l2fwd between two links."""

    name = "l2fwd"
    summary = "DPDK's l2fwd sample: sends when it has 32 packets or after 100 µs"
    n_links = 2
    link_kinds = ("memif", "veth", "xdp", "pci")
    options_type: type[DriverOptions] = L2fwdOptions

    def missing(self, options: DriverOptions) -> str | None:  # noqa: ARG002 - an interface
        """The program, when it is not built."""
        if find_l2fwd() is None:
            how = "run `make l2fwd`" if is_clone() else "build it as docs/install.md says,"
            return f"l2fwd: program not found; {how} or set TAUT_L2FWD"
        return None

    def version(self) -> str:
        """Of DPDK, as the program says it."""
        return version_of(find_l2fwd())

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
        """Start it; entered when its forwarding loop runs."""
        program = find_l2fwd()
        if program is None:
            raise MissingToolError(str(self.missing(options)))
        memory, notes = memory_arguments(scope, self.name)
        with child(
            self.name,
            _argv(program, links, cores[0], cast(L2fwdOptions, options), memory),
            scope=scope,
            cores=cores,
            netns=links[0].device_netns,
            log=log_dir / "l2fwd.log",
        ) as process:
            # The generator must not send before the loop runs. Over memif a l2fwd of one's own
            # takes 9 s: it first waits that long for links, which come up with the generator.
            process.wait_ready(r"L2FWD: entering main loop")
            dut = ProcessDut(
                process,
                path=LINKS[links[0].kind].path,
                notes=notes,
                read_stats=lambda: DutStats(holds=AS_L2FWD),
            )
            yield dut
            dut.stop()


def find_l2fwd() -> Path | None:
    """Give $TAUT_L2FWD, else what devtools/build_example leaves in the user's cache."""
    named = os.environ.get("TAUT_L2FWD")
    cached = Path.home() / ".cache" / "taut" / f"l2fwd-{dpdk_version()}" / "l2fwd"
    path = Path(named) if named else cached
    return path if path.is_file() and os.access(path, os.X_OK) else None


def _argv(
    program: Path, links: Sequence[Link], core: int, options: L2fwdOptions, memory: list[str]
) -> list[str]:
    return [
        str(program),
        *lcore_arguments(core, 1, Host().nodes()),
        *([] if links[0].kind == "pci" else ["--no-pci"]),
        "--no-telemetry",
        *memory,
        *port_arguments(links),
        *options.eal,
        "--",
        "-p",
        "0x3",
        # Promiscuous: frames go to the stations' addresses, which no card has.
        "-P",
        "-q",
        "2",
        # Printing statistics would stall the forwarding core; so it has no counters to give.
        "-T",
        "0",
        "--mac-updating" if options.mac_updating else "--no-mac-updating",
    ]
