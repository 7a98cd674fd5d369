"""rfc.json: a recipe of an RFC, what of it was shortened, and what each test of it found.

Loads are in packets per second of each direction; `both` of the recipe says whether there are two.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from taut.records.documents.search import UNIT, Goal, SearchOfDevice

RFC_FILE = "rfc.json"
RFC_FORMAT = 1

Rfc: TypeAlias = Literal["2544", "8219", "9004"]

Test: TypeAlias = Literal["throughput", "latency", "loss", "recovery", "reset", "bursts"]

THROUGHPUT: Test = "throughput"
LATENCY: Test = "latency"
LOSS: Test = "loss"
RECOVERY: Test = "recovery"
RESET: Test = "reset"
BURSTS: Test = "bursts"

FIRST_BURST = 16
"""Frames of the burst with which the search of the longest begins."""


@dataclass(frozen=True)
class Recipe:
    """What is measured, in which order, for how long and how often."""

    rfc: Rfc
    tests: tuple[Test, ...]
    frames: tuple[str, ...]
    """Lengths in bytes with FCS."""
    both: bool
    """Whether both directions are loaded, each at the rate."""
    warm_up_ns: int
    residue_ns: int
    """How long what was sent last is waited for."""
    settle_ns: int
    """How long nothing is sent before each trial."""
    repeats: int
    """How often a trial in which the generator was held up is measured again."""
    trial_ns: int
    """Of a trial of throughput, and of loss."""
    width: float
    """How near the bounds of throughput come to each other."""
    latency_ns: int
    tag_after_ns: int
    """From when on packets of a latency trial are taken as tagged."""
    tags: int
    """How many of each latency trial."""
    repetitions: int
    """Of the latency trial."""
    loss_step: float
    """From one load of the loss test to the next, as a share of the highest."""
    overload_ns: int
    recovery_ns: int
    """For how long a recovery is watched."""
    recoveries: int
    before_reset_ns: int
    after_reset_ns: int
    """For how long the device is watched after it is restarted."""
    resets: int
    burst_most_ns: int
    """How long the longest burst may take to send."""
    burst_step: float
    """How near the longest burst without a loss and the shortest one with some come, relatively."""
    bursts: int
    """How often that is searched anew."""


@dataclass(frozen=True)
class LatencyTrial:
    """One repetition of the latency trial; times are None where they are not known."""

    trial: str
    instrument_limited: bool
    """Not counted in any figure of the device."""
    n_tags: int = 0
    """Tagged packets that came back, without void ones."""
    n_tags_lost: int = 0
    tags_mean_ns: float | None = None
    tags_p50_ns: int | None = None
    tags_p99_9_ns: int | None = None
    min_ns: int | None = None
    """From here on of all packets that the generator was on time with, exactly."""
    p50_ns: int | None = None
    p99_ns: int | None = None
    p99_9_ns: int | None = None
    max_ns: int | None = None
    pdv_p99_9_ns: int | None = None
    """RFC 5481 4.2: the 99.9th percentile less the minimum, which is of all packets."""
    ipdv_min_ns: int | None = None
    ipdv_p50_ns: int | None = None
    ipdv_max_ns: int | None = None
    received: int = 0
    """From here on of all packets."""
    lost: int = 0
    reordered: int | None = None
    """RFC 4737 3.3: Type-P-Reordered, of a direction, whatever the flow; None: packets are not
    recorded."""
    longest_extent: int | None = None
    """RFC 4737 4.2: of the reordered packets; None: there are none, or packets are not recorded."""
    n_reordered: tuple[int, ...] = ()
    """RFC 4737 5.3: how many packets are n-reordered, n from 1."""
    n_tags_void: int = 0
    """Tagged packets that the generator was late with, which are in no figure of the tags."""
    void: int | None = None
    """All packets that the generator was late with; None: by a taut that did not leave them out."""


@dataclass(frozen=True)
class LatencyFound:
    """The latency trials at the throughput."""

    load_pps: float
    trials: tuple[LatencyTrial, ...]


@dataclass(frozen=True)
class LossAt:
    """What was lost at a share of the highest load."""

    share: float
    load_pps: float
    trials: tuple[str, ...]
    due: int
    sent: int
    lost: int
    loss_ratio: float
    """Lost and unsent over due."""
    instrument_limited: bool
    """The generator was held up in every attempt, of which this is the median one."""


@dataclass(frozen=True)
class RecoveryTrial:
    """How long packets were lost after an overload had ended."""

    trial: str
    instrument_limited: bool
    recovery_ns: int | None = None
    """From the end of the overload to the last packet lost; 0: none was after it.

    None: packets are not recorded, or one that the generator was late with was lost later, before
    1,000 others had come back.
    """
    lost_before: int | None = None
    lost_after: int | None = None
    lost_void_after: int | None = None
    """Lost after it, too, but while the generator was held up: not among `lost_after`."""


@dataclass(frozen=True)
class RecoveryFound:
    """Recoveries from one overload."""

    overload_pps: float
    after_pps: float
    trials: tuple[RecoveryTrial, ...]


@dataclass(frozen=True)
class ResetTrial:
    """For how long a restarted device forwarded nothing."""

    trial: str
    instrument_limited: bool
    reset_ns: int | None = None
    """RFC 6201 1.3, timestamps: the longest time without a packet, unless the generator alone was
    held up. None: it did not come back, or packets are not recorded."""
    lost: int | None = None
    by_loss_ns: int | None = None
    """RFC 6201 1.3, frame loss: what was lost over the offered rate."""
    lost_void: int | None = None
    """Lost, too, but while the generator was held up: not among `lost`."""


@dataclass(frozen=True)
class ResetFound:
    """Restarts of the device under load."""

    load_pps: float
    trials: tuple[ResetTrial, ...]


@dataclass(frozen=True)
class Burst:
    """One burst on the way to the longest."""

    length: int
    trials: tuple[str, ...]
    lost: int
    """With what was unsent."""
    instrument_limited: bool


@dataclass(frozen=True)
class LongestBurst:
    """One search for the longest burst of which nothing is lost."""

    length: int
    """0: something was lost of the shortest one, too."""
    is_at_limit: bool
    """Nothing was lost of the longest burst that was allowed: no limit of the device."""
    instrument_limited: bool
    """The generator was held up in one of the two bursts at its end: not counted."""
    bursts: tuple[Burst, ...]


@dataclass(frozen=True)
class BurstsFound:
    """Searches for the longest burst, at the highest rate."""

    load_pps: float
    longest: tuple[LongestBurst, ...]


@dataclass(frozen=True)
class RfcOfDevice:
    """What was found of one device with frames of one size."""

    device: str
    driver: str
    link: str
    frame: str
    max_pps: float
    """What stands for the maximum rate of the medium: what the loopback carries, or what was
    asked for."""
    is_max_the_instruments: bool
    throughput: SearchOfDevice
    latency: LatencyFound | None = None
    """None, here and below: not part of the recipe, or `not_run` says why."""
    loss: tuple[LossAt, ...] | None = None
    recovery: RecoveryFound | None = None
    reset: ResetFound | None = None
    bursts: BurstsFound | None = None
    not_run: tuple[str, ...] = ()
    """Why tests of the recipe were not, each after the test's name."""
    failed: tuple[str, ...] = ()
    """Why tests ended early or have nothing: all attempts at a trial failed. After the name."""
    is_max_known: bool = True
    """False: `max_pps` is neither: the loopback has no bound, and no maximum was asked for."""

    @property
    def throughput_pps(self) -> float | None:
        """The highest load at which nothing was lost; None: there was none."""
        lower = self.throughput.found[0].lower
        return None if lower is None else lower.load_pps


@dataclass(frozen=True)
class RfcDocument:
    """A recipe and what it found."""

    rfc: Rfc
    recipe: Recipe
    shortened: tuple[str, ...]
    """What differs from the RFC's own durations, sizes and repetitions, in words."""
    goal: Goal
    instruments: tuple[SearchOfDevice, ...]
    """The searches of the loopbacks, whose bounds are the highest loads for the devices."""
    results: tuple[RfcOfDevice, ...]
    method: str
    took_s: float
    """Of this call; a resumed recipe took longer in all."""
    unit: str = UNIT
    format: int = RFC_FORMAT
