"""trial.json: what one trial was asked to do, on what it ran, what its programs counted.

A key that is missing did not exist when the file was written: readers find its default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from taut.records.documents.generator import GapCounters, GeneratorResult
from taut.records.documents.json_field import LEFT_OUT, rest
from taut.records.documents.json_form import JsonObject
from taut.records.documents.match import Capture
from taut.records.documents.neighbour import NeighbourOfTrial

TRIAL_FORMAT = 1
TRIAL_FILE = "trial.json"

AS_FOUND = "as found"
"""Names the state of a host that taut did not change; trials without a state have it, too."""

BARE = "bare"
"""Names the placement that is the host itself; trials that name none have it, too."""

CHANGES_NOTHING = "changes nothing here, it is measured as found"
"""Of a state of the host, in a warning of the manifest: its trials differ from those as found by
chance alone."""

StatusOfTrial: TypeAlias = Literal["whole", "failed"]

WHOLE: StatusOfTrial = "whole"
FAILED: StatusOfTrial = "failed"

HOP = "hop "
"""Begins the names of a chain's hops, which are numbered from 1."""

DEVICE = "device"
"""Names a device that is no chain where its stamps are told from those of hops."""

Scalar: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True)
class Failure:
    """Why a trial failed."""

    reason: str = "no reason recorded"
    log_tail: tuple[str, ...] = ()
    """Last lines of the program that failed."""


@dataclass(frozen=True)
class PortCounters:
    """What the device counted at one of its ports, by its own names."""

    rx: int | None = field(default=None, metadata=LEFT_OUT)
    """Packets received; only taut-forward calls them that."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class Holds:
    """What a transmit policy holds back: packets wait until so many are there, or for so long."""

    packets: int
    drain_ns: int | None = None
    """None: there is no timer, and only a full batch is sent."""


@dataclass(frozen=True)
class StampCounters:
    """Stamps of packets that taut-forward took."""

    every: int
    """Of so many packets one was stamped, on average."""
    n: int
    not_kept: int = 0


@dataclass(frozen=True)
class DutStats:
    """What the device counted itself; only taut-forward has `gaps`, devices differ in `others`."""

    transmit: str | None = field(default=None, metadata=LEFT_OUT)
    holds: Holds | None = None
    """None: nothing. Of before taut-forward said so, and of a killed one, `transmit` tells."""
    gaps: GapCounters | None = field(default=None, metadata=LEFT_OUT)
    """None: it keeps no log of them."""
    stamps: StampCounters | None = field(default=None, metadata=LEFT_OUT)
    """None: it stamped no packets."""
    ports: tuple[PortCounters, ...] | None = field(default=None, metadata=LEFT_OUT)
    understood: JsonObject | None = field(default=None, metadata=LEFT_OUT)
    """The options as taut-forward read them; None of other devices and of before it said so."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class Hop:
    """One process of a chain, as it ran."""

    name: str
    """HOP and its number; also the thread of its gaps. Direction 0 meets the first one first."""
    core: int
    threads: tuple[int, ...] = ()
    stats: DutStats | None = None


@dataclass(frozen=True)
class Placed:
    """Where the device ran, if not on the host itself."""

    kind: str
    version: str | None = None
    """Of what made the place: the container runtime, the emulator."""
    options: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class ClockOfGuest:
    """How the times of a guest were put on the host's clock."""

    method: str
    error_ns: int
    """No time of the guest is farther off than this, if the two clocks run evenly in between."""


@dataclass(frozen=True)
class Guest:
    """The virtual machine that the device ran in."""

    claim: str | None
    """What its numbers are not: of an emulated guest, latencies. None: it ran on the processor."""
    kernel: str
    parameters: str
    cpu: int
    """The virtual CPU on which the device polls."""
    cpu_thread: int
    """The host's thread that is this CPU."""
    program: int | None = None
    """The id of the device's thread in the guest."""
    clock: ClockOfGuest | None = None
    """None: its times were not put on the host's clock, as where it died."""


@dataclass(frozen=True)
class Dut:
    """The device under test, as it was started."""

    name: str | None = None
    driver: str | None = None
    version: str | None = None
    options: JsonObject = field(default_factory=dict)
    link: str | None = None
    placement: str | None = None
    """The name of the place, as the experiment has it."""
    placed: Placed | None = field(default=None, metadata=LEFT_OUT)
    """None: on the host itself."""
    guest: Guest | None = field(default=None, metadata=LEFT_OUT)
    """None: it ran on the host's kernel."""
    path: str | None = None
    """The way of a packet, in words."""
    notes: tuple[str, ...] = ()
    stats: DutStats | None = None
    died: str | None = field(default=None, metadata=LEFT_OUT)
    """Who had ended when it was to be stopped, and how: the trial was measured to its end, but what
    the device writes when it stops, counters and logs, is missing. None: nobody."""
    threads: tuple[int, ...] | None = field(default=None, metadata=LEFT_OUT)
    """Ids of all threads its process had during the trial; empty: it has no process.

    None: it did not get to its end, or is of before that was noted; some wrote it for "no process".
    """
    hops: tuple[Hop, ...] | None = field(default=None, metadata=LEFT_OUT)
    """Of a chain that got to its end; each has counters of its own, and `stats` is None."""
    logged_from_ns: int | None = field(default=None, metadata=LEFT_OUT)
    """From when on its log of gaps is there, of a device that was restarted: what it logged before
    is gone. None: of all of the trial."""


@dataclass(frozen=True)
class InForce:
    """Which changes of a state are in force, as read from the machine."""

    n_changes: int = 0
    n_in_force: int = 0
    lost: tuple[str, ...] = ()
    """Settings that somebody else has changed meanwhile, or taken back (`taut host undo`)."""
    threads_that_moved: int = 0


@dataclass(frozen=True)
class StateOfHost:
    """The state the host was brought into for a trial."""

    name: str = AS_FOUND
    remedies: tuple[str, ...] = ()
    before: InForce | None = None
    after: InForce | None = None
    refused: int | None = field(default=None, metadata=LEFT_OUT)
    """Changes that this machine does not let anybody make."""


@dataclass(frozen=True)
class Traffic:
    """What was to be sent; None where captures do not say."""

    name: str | None = None
    schedule: str | None = None
    options: Mapping[str, Scalar] = field(default_factory=dict)
    frame: str | None = None
    """Length in bytes with FCS, or the name of a mix."""
    flows: int | None = None
    both: bool | None = None
    rate: str | None = None
    """The rate as the experiment file spells it."""
    rate_layer: str | None = None
    offered_pps: float | None = None
    duration_ns: int | None = None
    warm_up_ns: int | None = None
    seed: int | None = None
    record: str = "all"


@dataclass(frozen=True)
class TraceOfTrial:
    """Whether the kernel's events were recorded."""

    mode: str | None = None
    why_not: str | None = None


@dataclass(frozen=True)
class CoresOfTrial:
    """Which core did what."""

    generator: int | None = None
    device: int | None = None
    writer: int | None = None
    runner: int | None = None
    shared: bool = False
    """Whether generator and device had to share a core."""
    why: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkewOfCores:
    """How far the clocks of two cores are apart."""

    cores: tuple[int, int] = (0, 0)
    skew_ns: float = 0.0
    uncertainty_ns: float = 0.0


@dataclass(frozen=True)
class ClockReading:
    """What taut-clock said of the TSC; `why` it cannot be used, None where it can."""

    usable: bool = False
    why: str | None = None
    tsc_hz: float | None = None
    skew: tuple[SkewOfCores, ...] = ()
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class Clocks:
    """The clock before and after a trial."""

    before: ClockReading | None = None
    after: ClockReading | None = None


@dataclass(frozen=True)
class TrialDocument:
    """trial.json: what was sent, through which device, on which cores, and how it ended."""

    format: int = TRIAL_FORMAT
    index: int | None = None
    name: str | None = None
    status: StatusOfTrial | None = None
    failure: Failure | None = None
    repetition: int | None = None
    started_utc: str | None = None
    dut: Dut = field(default_factory=Dut)
    host: StateOfHost = field(default_factory=StateOfHost)
    neighbour: NeighbourOfTrial | None = field(default=None, metadata=LEFT_OUT)
    """Who else was busy; None: nobody."""
    traffic: Traffic = field(default_factory=Traffic)
    trace: TraceOfTrial | None = None
    cores: CoresOfTrial | None = None
    clock: Clocks = field(default_factory=Clocks)
    generator: GeneratorResult | None = None
    capture: Capture | None = field(default=None, metadata=LEFT_OUT)
    """What taut-match found; None unless the trial is a pair of captures."""
    logs: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the trial ended as planned."""
        return self.status == WHOLE
