"""generator.json: what taut-generate counted in one trial; a trial.json holds it whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from taut.records.documents.json_field import LEFT_OUT, rest
from taut.records.documents.json_form import JsonObject

GENERATOR_FILE = "generator.json"

INSTRUMENT_LIMIT = 0.01
"""With a larger share of void packets a trial measures the generator rather than the device."""

RATE_TOLERANCE = 0.001
"""A rate that differs by more from what was asked for was not achieved."""

Counters: TypeAlias = Mapping[str, int]
"""Packets by what became of them: due, sent, unsent, matched, lost, ...

`cold` are those due in the warm-up, and of unsent, lost and void each `_cold` those of them.
"""


def share_in_time(
    achieved_pps: float | None, offered_pps: float | None, due: int, refused: int
) -> float:
    """Give how much of what the link did not refuse was sent at the rate asked for; 0: not known.

    A rate is what was due, over the time of the schedule, or what was sent, over that of sending.
    What was given up in the end is late for ever: it is among `due`, and not refused.
    """
    if not (achieved_pps and offered_pps and due > refused):
        return 0.0
    return achieved_pps / offered_pps * due / (due - refused)


def warm_count(counters: Counters, name: str) -> int:
    """Count packets due after the warm-up that are `due`, `unsent`, `lost` or `void`."""
    return counters.get(name, 0) - counters.get("cold" if name == "due" else f"{name}_cold", 0)


@dataclass(frozen=True)
class GapCounters:
    """Gaps of a polling thread: times above the threshold in which it did not poll."""

    n: int = 0
    total_ns: int = 0
    max_ns: int = 0
    not_logged: int = 0
    """Gaps that are counted and not logged: the log was full."""
    threshold_ns: int | None = None
    per_packet_ns: int = 0
    """A loop may take this much longer for each packet it moved before it counts as a gap."""
    work_packets: int = 0
    """Packets that its loop handled in iterations that were no gap; 0: not counted, or none."""
    work_ns: int = 0
    """How long those iterations took together."""
    longest_granted_ns: int | None = field(default=None, metadata=LEFT_OUT)
    """The longest stall that may have passed as work of the ports."""
    full_ring_packets: int | None = field(default=None, metadata=LEFT_OUT)
    """So many packets that waited in a receive ring of the generator's filled it."""
    full_ring_ns: int | None = field(default=None, metadata=LEFT_OUT)
    """No shorter gap filled it."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class HistogramResolution:
    """How exact the histograms are."""

    exact_below_ns: int | None = None
    relative_above: float = 0.0


@dataclass(frozen=True)
class PortDrops:
    """What a receiving port of the generator dropped itself; 0 where its driver does not count."""

    rx_missed: int = 0
    """Its ring was full."""
    rx_no_mbuf: int = 0
    """There was no buffer for them."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class InFlight:
    """What the generator keeps of packets that are not back."""

    capacity: int = 0
    """The latest of each direction; what is not back when so many more were sent is lost."""
    deadline_ns: int = 0
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class DeviceUse:
    """What the device took of its core while packets were sent, and until the last was back."""

    elapsed_ns: int = 0
    process_ns: int | None = None
    """Time of its process on any core; None: the device is the kernel, or it died."""
    idle_poll_ns: int | None = None
    """Time that the core was idle and polled (haltpoll); None: its kernel does not say."""
    awake_ns: int | None = None
    """Time that the core was in no state of sleep; None: its kernel does not say."""
    others: JsonObject = field(default_factory=dict, metadata=rest())

    @property
    def cpu_share(self) -> float | None:
        """The share of one core it took, with what its core burnt polling in idle; None: unknown.

        Of a device that is the kernel all that its core did.
        """
        used_ns = self.awake_ns
        if self.process_ns is not None:
            used_ns = self.process_ns + (self.idle_poll_ns or 0)
        return None if used_ns is None or not self.elapsed_ns else used_ns / self.elapsed_ns


@dataclass(frozen=True)
class EnergyDomain:
    """What one domain of RAPL took."""

    zone: str
    """Its folder in /sys/class/powercap."""
    name: str
    """As the kernel calls it: package-0, core, dram."""
    energy_uj: int | None = None
    """None: its counter may have come round more than once in that time."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class Energy:
    """What the processor took while packets were sent, and until the last was back.

    Of whole packages: of the generator, of taut itself and of whoever else ran there, not of the
    device alone.
    """

    elapsed_ns: int = 0
    why_not: str | None = None
    """Why it cannot be read; None: it can."""
    domains: tuple[EnergyDomain, ...] = ()
    others: JsonObject = field(default_factory=dict, metadata=rest())

    @property
    def packages_w(self) -> float | None:
        """Mean power of all packages together; None: `unreadable` says why."""
        if self.unreadable is not None or not self.elapsed_ns:
            return None
        return 1e3 * sum(domain.energy_uj or 0 for domain in self._packages) / self.elapsed_ns

    @property
    def unreadable(self) -> str | None:
        """Why the power of the packages is not known; None: it is."""
        if self.why_not is not None:
            return self.why_not
        if not self._packages:
            return "no package among the domains"
        if any(domain.energy_uj is None for domain in self._packages):
            return "trials so long that the counter may have come round more than once"
        return None

    @property
    def _packages(self) -> list[EnergyDomain]:
        return [domain for domain in self.domains if domain.name.startswith("package")]


@dataclass(frozen=True)
class GeneratorResult:
    """The counters of a trial's generator; captures have the same ones from taut-match."""

    counters: Counters = field(default_factory=dict)
    """Empty where a trial failed before the generator counted."""
    offered_pps: float | None = None
    achieved_pps: float | None = None
    directions: tuple[Counters, ...] = ()
    gaps: GapCounters | None = field(default=None, metadata=LEFT_OUT)
    histogram_resolution: HistogramResolution | None = field(default=None, metadata=LEFT_OUT)
    understood: JsonObject | None = field(default=None, metadata=LEFT_OUT)
    """The options as taut-generate read them; None of captures and of before it said so."""
    rate_pps: float | None = field(default=None, metadata=LEFT_OUT)
    """The rate it read, in packets a second of each direction."""
    duration_ns: int | None = field(default=None, metadata=LEFT_OUT)
    """How long it sent, the warm-up included; None of captures."""
    device_use: DeviceUse | None = field(default=None, metadata=LEFT_OUT)
    """None without a device, and of captures."""
    energy: Energy | None = field(default=None, metadata=LEFT_OUT)
    """None of captures, and of before it was read."""
    ports: tuple[PortDrops, ...] | None = field(default=None, metadata=LEFT_OUT)
    """By direction; None of captures, and of before it was read."""
    in_flight: InFlight | None = field(default=None, metadata=LEFT_OUT)
    """None of captures, which wait for no packet."""
    others: JsonObject = field(default_factory=dict, metadata=rest())
