"""ovs_dpdk: Open vSwitch's datapath in user space, a DPDK thread that polls two memif ports."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pydantic import Field, field_validator

from taut.core.cpus import CpuSet
from taut.dut.driver import DriverOptions, with_whole_path
from taut.dut.open_vswitch import STRAIGHT
from taut.dut.polling_switch import (
    RX_QUEUES,
    counters,
    memif_port,
    missing_polling,
    polling,
    refuses_core,
    refuses_setting,
    version,
)
from taut.dut.process_dut import ProcessDut
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.placement import BARE
from taut.testbed.scope import RunScope


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
            if (why := refuses_setting(value)) is not None:
                raise ValueError(why)
        return values

    @property
    def files(self) -> tuple[Path, ...]:
        """Give the file of flows, where there is one."""
        return (Path(self.flows),) if self.flows else ()

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Give the flows with their whole path."""
        return with_whole_path(folder, options, "flows")

    def refuses_placement(self, kind: str) -> str | None:
        """Its database, its tools and its namespace are the host's."""
        return None if kind == BARE else f"its database and bridge are the host's, not of a {kind}"

    def refuses_cores(self, cores: CpuSet, host: Host) -> str | None:
        """Whether its PMD thread can poll there."""
        del host
        return refuses_core(cores[0])

    def peer_rx_queues(self, link: str) -> int:  # noqa: ARG002 - it has one link kind
        """Two, of which its PMD thread fills one."""
        return RX_QUEUES


class OvsDpdkDriver:
    """Runs an Open vSwitch of the trial's own between two memif links."""

    name = "ovs_dpdk"
    summary = "Open vSwitch with DPDK over memif, its polling thread on the device's core"
    n_links = 2
    link_kinds = ("memif",)
    options_type: type[DriverOptions] = OvsDpdkOptions

    def missing(self, options: DriverOptions) -> str | None:
        """Root, the program, or what is wrong with the flows."""
        return missing_polling(cast(OvsDpdkOptions, options).flows)

    def version(self) -> str:
        """Of the switch, and of the DPDK it is linked with."""
        return version()

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        """None on its core's node: the switch is lent its own of each."""
        return 0

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
        """Start it; entered when its flows are set."""
        given = cast(OvsDpdkOptions, options)
        with polling(
            [memif_port(i, link.socket) for i, link in enumerate(links)],
            Path(given.flows).read_text(encoding="utf-8") if given.flows else STRAIGHT,
            scope=scope,
            cores=cores,
            log_dir=log_dir,
            other_config=given.other_config,
        ) as switch:
            dut = ProcessDut(
                switch.daemon,
                path=LINKS[links[0].kind].path,
                notes=[f"PMD thread of Open vSwitch on core {cores[0]}; its other threads, too"],
                ask_stats=lambda: counters(switch),
            )
            yield dut
            dut.stop()
