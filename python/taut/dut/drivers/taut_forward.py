"""taut_forward: taut's own forwarder, network functions in order on one core."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

from taut.core.cpus import CpuSet
from taut.core.version import taut_version
from taut.dut.driver import DriverOptions, RunningDut
from taut.dut.forwarder import TautForwardOptions, forwarding, hugepages_of, missing
from taut.dut.wait import POLL
from taut.host.situation import Waiting
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope


class TautForwardDriver:
    """Runs taut-forward between two links."""

    name = "taut_forward"
    summary = "taut's forwarder: poll, network functions, transmit policy, on one core"
    n_links = 2
    link_kinds = tuple(LINKS)
    options_type: type[DriverOptions] = TautForwardOptions

    def missing(self, options: DriverOptions) -> str | None:
        """The program, when it is not built, or what it refuses of a network function."""
        return missing(cast(TautForwardOptions, options))

    def version(self) -> str:
        """Taut's version; the manifest holds the program's hash."""
        return taut_version()

    def hugepages(self, options: DriverOptions) -> int:
        """For packets, those that functions hold among them, and for their tables."""
        return hugepages_of(cast(TautForwardOptions, options))

    def waits(self, options: DriverOptions) -> Waiting:
        """It polls, its worker being a loop over its ports, unless `wait` says otherwise."""
        polls = cast(TautForwardOptions, options).wait == POLL
        return Waiting.POLLS if polls else Waiting.SLEEPS

    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> AbstractContextManager[RunningDut]:
        """Start it; entered when it says that its ports are started."""
        return forwarding(
            [link.device_port for link in links],
            cores,
            cast(TautForwardOptions, options),
            log_dir,
            scope,
            path=LINKS[links[0].kind].path,
            netns=links[0].device_netns,
        )
