"""chain: several taut-forward processes in a row, shared memory or a switch between two."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, Self, cast

from pydantic import Field, field_validator

from taut.core.cpus import CpuSet
from taut.core.version import taut_version
from taut.dut.driver import DriverOptions, RunningHop
from taut.dut.forwarder import TautForwardOptions, forwarding, hugepages_of, missing
from taut.dut.hop_ports import joined_by_switch, joined_in_a_row
from taut.dut.polling_switch import RX_QUEUES, missing_polling, refuses_core
from taut.dut.process_dut import ProcessDut
from taut.dut.stamping import AUTO, StampEvery, stamp_every, stamps_per_packet
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.records.documents.trial import HOP, DutStats
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope

_MOST_HOPS = 9
"""Up to here the name of a socket between two hops is no longer than that of a link."""
_GUESTS = "vm"
"""The kind of placement that shares no memory with another of its kind."""


class ChainOptions(DriverOptions):
    """Options of a chain: a table of those of taut_forward for each of its hops."""

    hops: tuple[TautForwardOptions, ...] = Field(
        ({}, {}),
        validate_default=True,
        min_length=2,
        max_length=_MOST_HOPS,
        description="a table of taut_forward's options for each hop, in the order in which packets"
        " of direction 0 pass them",
    )

    stamp_every: StampEvery = Field(
        AUTO,
        description="each hop stamps one packet in so many where it comes in and where it leaves,"
        " for the latency budget; 0: none; auto: as many as a budget needs",
    )

    switch: Literal["ovs_dpdk"] | None = Field(
        None,
        description="ovs_dpdk: an Open vSwitch with DPDK stands before, between and after the hops,"
        " which it reaches by vhost-user; left out: shared memory (memif) from each to the next",
    )

    @field_validator("hops")
    @classmethod
    def _stamp_alike(cls, hops: tuple[TautForwardOptions, ...]) -> tuple[TautForwardOptions, ...]:
        """Refuse hops that stamp by themselves: a budget needs the same packets at all of them."""
        if any(hop.stamp_every for hop in hops):
            raise ValueError("stamp_every is an option of the chain, not of a hop")
        return hops

    def stamping(self, n_packets: int) -> Self:
        """Choose how many packets each hop stamps."""
        every = stamp_every(self.stamp_every, n_packets)
        hops = tuple(hop.model_copy(update={"stamp_every": every}) for hop in self.hops)
        return self.model_copy(update={"stamp_every": every, "hops": hops})

    def logging(self, n_gaps: int) -> Self:
        """Bound the log of gaps of each hop."""
        return self.model_copy(update={"hops": tuple(hop.logging(n_gaps) for hop in self.hops)})

    @property
    def n_gap_logs(self) -> int:
        """One of each hop."""
        return len(self.hops)

    @property
    def stamps_per_packet(self) -> float:
        """Of all hops together."""
        return len(self.hops) * stamps_per_packet(self.stamp_every)

    @property
    def waits_for_more(self) -> bool:
        """Whether one of the hops buffers without a timer."""
        return any(hop.waits_for_more for hop in self.hops)

    @property
    def n_cores(self) -> int:
        """One for each hop, and one for the switch; with fewer, they take turns."""
        return len(self.hops) + (self.switch is not None)

    def peer_rx_queues(self, link: str) -> int:
        """Two where the switch is its peer."""
        return super().peer_rx_queues(link) if self.switch is None else RX_QUEUES

    @property
    def files(self) -> tuple[Path, ...]:
        """What the hops' network functions read, and shared objects."""
        return tuple(path for hop in self.hops for path in hop.files)

    def refuses_link(self, link: str) -> str | None:
        """No hop may sleep: the memif ports between two have no receive interrupts."""
        for i, hop in enumerate(self.hops):
            if hop.refuses_link("memif") is not None:
                return f"{HOP}{i + 1}: wait = {hop.wait!r}: memif has no receive interrupts; poll"
        if self.switch is not None and link != "memif":
            return f"switch = {self.switch!r} has no port for link {link}; it takes memif"
        return super().refuses_link(link)

    def refuses_placement(self, kind: str) -> str | None:
        """Guests reach each other by a switch alone."""
        if kind == _GUESTS and self.switch is None:
            return 'virtual machines have no memory in common; give it switch = "ovs_dpdk"'
        return None

    def refuses_cores(self, cores: CpuSet, host: Host) -> str | None:
        """Whether the switch can poll on its own."""
        del host
        return None if self.switch is None else refuses_core(self.core_of_switch(cores))

    def core_of_switch(self, cores: CpuSet) -> int:
        """Give the core after those of the hops; where there is none it takes turns with one."""
        return cores[len(self.hops) % len(cores)]

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Give the shared objects of each hop's `nf` with their whole paths."""
        hops = options.get("hops")
        if not isinstance(hops, list | tuple):
            return dict(options)
        found = [
            TautForwardOptions.seen_from(folder, hop) if isinstance(hop, dict) else hop
            for hop in hops
        ]
        return {**options, "hops": found}


class ChainDut:
    """The hops of a chain that runs, as one device."""

    gaps_file: Path | None = None
    stamps_file: Path | None = None

    def __init__(self, hops: Sequence[RunningHop], path: str, switch: ProcessDut | None) -> None:
        self.hops = tuple(hops)
        self.path = path
        self._switch = switch
        self.notes = self._noted()
        self.logs = [log for hop in hops for log in hop.device.logs]
        if switch is not None:
            self.logs += switch.logs
        self.pid: int | None = hops[0].device.pid
        self.switch_pid = None if switch is None else switch.pid
        self.died: str | None = None  # the switch; each hop says so of itself
        self._died: list[RunningHop] | None = None  # of themselves; None: it was not stopped yet

    def alive(self) -> bool:
        """Whether all hops and the switch run: without one, no packet comes through."""
        parts = [hop.device for hop in self.hops]
        return all(part.alive() for part in (*parts, *_there(self._switch)))

    def stop(self) -> DutStats | None:
        """Stop the hops, the last one first, each with its own counters; give the switch's."""
        if self._died is None:
            self._died = self._ended()
            for switch in _there(self._switch):
                switch.ask()  # with a hop, what its ports of the switch counted is gone
        for hop in reversed(self.hops):
            hop.device.stop()
        counted = None
        if self._switch is not None:
            counted = self._switch.stop()
            self.died = self._switch.died
        self.notes = self._noted()
        return counted

    def log_tail(self) -> list[str]:
        """Say how the hops ended that did, after their last lines; all hops' lines if none did."""
        if self._switch is not None and not self._switch.alive():
            return self._switch.log_tail()
        died = self._ended() if self._died is None else self._died
        return [
            f"{hop.name}: {line}" for hop in died or self.hops for line in hop.device.log_tail()
        ]

    def _noted(self) -> list[str]:
        of_hops = [f"{hop.name}: {note}" for hop in self.hops for note in hop.device.notes]
        return of_hops + [note for switch in _there(self._switch) for note in switch.notes]

    def _ended(self) -> list[RunningHop]:
        return [hop for hop in self.hops if not hop.device.alive()]


class ChainDriver:
    """Runs hops in a row between two links."""

    name = "chain"
    summary = "several taut-forward in a row, each a process on its own core if there are enough"
    n_links = 2
    link_kinds = ("memif", "veth", "xdp")
    options_type: type[DriverOptions] = ChainOptions

    def missing(self, options: DriverOptions) -> str | None:
        """The program, when it is not built, what it refuses of a network function, the switch."""
        lacks = next(filter(None, map(missing, _hops(options))), None)
        return lacks or (missing_polling() if _has_switch(options) else None)

    def version(self) -> str:
        """Taut's version; the manifest holds the program's hash."""
        return taut_version()

    def hugepages(self, options: DriverOptions) -> int:
        """Each hop is a process with memory of its own; a switch is lent that of each node."""
        return sum(map(hugepages_of, _hops(options)))

    def waits(self, options: DriverOptions) -> Waiting:  # noqa: ARG002 - an interface
        """Every hop is a loop over its ports."""
        return Waiting.POLLS

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> Iterator[ChainDut]:
        """Start the hops, first to last; where cores are too few, hops take turns on them."""
        hops: list[RunningHop] = []
        n = len(_hops(options))
        switch = None
        with ExitStack() as stack:
            if _has_switch(options):
                core = cast(ChainOptions, options).core_of_switch(cores)
                by_switch = joined_by_switch(links, n, core, log_dir, scope)
                pairs, switch = stack.enter_context(by_switch)
            else:
                pairs = stack.enter_context(joined_in_a_row(links, n, scope))
            for number, (hop, ports) in enumerate(zip(_hops(options), pairs, strict=True)):
                name, core = f"{HOP}{number + 1}", cores[number % len(cores)]
                started = forwarding(
                    ports,
                    (core,),
                    hop,
                    log_dir,
                    scope,
                    path="",
                    netns=links[0].device_netns,
                    prefix=f"hop{number + 1}-",
                )
                hops.append(RunningHop(name, core, stack.enter_context(started)))
            between = ", memif, " if switch is None else ", Open vSwitch by vhost-user, "
            places = between.join(f"{hop.name} on core {hop.core}" for hop in hops)
            dut = ChainDut(hops, f"{LINKS[links[0].kind].path}; {places}", switch)
            yield dut
            dut.stop()


def _hops(options: DriverOptions) -> tuple[TautForwardOptions, ...]:
    return cast(ChainOptions, options).hops


def _has_switch(options: DriverOptions) -> bool:
    return cast(ChainOptions, options).switch is not None


def _there(switch: ProcessDut | None) -> tuple[ProcessDut, ...]:
    return () if switch is None else (switch,)
