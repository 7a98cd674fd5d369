"""taut_forward: taut's own forwarder, a chain of network functions on one core."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pydantic import Field

from taut.core.binaries import find_binary, find_binary_or_none
from taut.core.cpus import CpuSet
from taut.core.version import taut_version
from taut.dut.dpdk import HUGEPAGES, PATH_WORDS
from taut.dut.driver import DriverOptions
from taut.dut.process_dut import ProcessDut
from taut.records.rundir import read_json
from taut.testbed.link import Link
from taut.testbed.process import child
from taut.testbed.scope import RunScope

_PROGRAM = "taut-forward"


class TautForwardOptions(DriverOptions):
    """Options of taut-forward; `taut-forward --describe` lists the network functions."""

    nf: tuple[str, ...] = Field((), description="network functions in order: NAME[:key=value,...]")
    transmit: str = Field(
        "eager", description="eager, single, or buffered[:PACKETS,DRAIN] as DPDK's l2fwd (32,100us)"
    )
    burst: int = Field(32, ge=1, le=512, description="most packets taken from a port at once")
    eal: tuple[str, ...] = Field((), description="EAL options appended after --")


class TautForwardDriver:
    """Runs taut-forward between two links."""

    name = "taut_forward"
    summary = "taut's forwarder: poll, network functions, transmit policy, on one core"
    n_links = 2
    link_kinds = ("memif", "veth", "xdp", "pci")
    options_type: type[DriverOptions] = TautForwardOptions

    def missing(self, options: DriverOptions) -> str | None:  # noqa: ARG002 - an interface
        """The program, when it is not built."""
        if find_binary_or_none(_PROGRAM) is None:
            return f"{_PROGRAM}: program not found; run `make build` or set TAUT_BIN_DIR"
        return None

    def version(self) -> str:
        """Taut's version; the manifest holds the program's hash."""
        return taut_version()

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        """64 MB."""
        return HUGEPAGES

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> Iterator[ProcessDut]:
        """Start it; entered when it says that its ports are started."""
        stats, gaps = log_dir / "taut-forward.json", log_dir / "gaps-forwarder.bin"
        with child(
            _PROGRAM,
            _argv(links, cores, cast(TautForwardOptions, options), stats, gaps),
            scope=scope,
            cores=cores,
            netns=links[0].device_netns,
            log=log_dir / "taut-forward.log",
        ) as process:
            process.wait_ready(r"^taut-forward: ready")
            dut = ProcessDut(
                process,
                path=PATH_WORDS[links[0].kind],
                gaps_file=gaps,
                read_stats=lambda: read_json(stats) if stats.exists() else {},
            )
            yield dut
            dut.stop()


def _argv(
    links: Sequence[Link], cores: CpuSet, options: TautForwardOptions, stats: Path, gaps: Path
) -> list[str]:
    argv = [str(find_binary(_PROGRAM))]
    for link in links:
        argv += ["--port", link.device_port]
    for nf in options.nf:
        argv += ["--nf", nf]
    argv += ["--transmit", options.transmit, "--burst", str(options.burst)]
    argv += ["--core", str(cores[0]), "--gaps", str(gaps), "--stats", str(stats)]
    if options.eal:
        argv += ["--", *options.eal]
    return argv
