"""What an explanation says, as values; document.py makes JSON of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from taut.explain.causes import BY_ID
from taut.explain.grades import count_guesses, title_words
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.read.events import TraceNotes
from taut.explain.read.recorded import Recorded
from taut.explain.tell.gap_table import gap_table
from taut.explain.walk.calibrate import Calibration
from taut.records.documents.explanation import CountersMoved, Offender, VetoCounts


@dataclass(frozen=True)
class Options:
    """What is asked of an explanation."""

    over: str = "p99.9"
    """Packets above this are the tail: a percentile of the trial's latency, or a time (`25us`)."""
    n_worst: int = 50
    """How many episodes are described one by one."""
    is_guest: bool | None = None
    """Whether it ran in a virtual machine; None: ask the run's manifest."""
    device_thread: int | None = None
    """Thread ids; None: found in the events."""
    generator_thread: int | None = None
    every_gap: bool = False
    """Whether every gap's verdict is kept, however long the trace is."""


@dataclass(frozen=True)
class Share:
    """A part of a gap's time."""

    label: str  # a cause's id, "entry and exit", "own packets" or "residual"
    ns: int
    detail: str = ""


@dataclass(frozen=True)
class GapStory:
    """One gap of a polling thread and where its time went; the shares sum to its length."""

    thread: str
    core: int
    start_ns: int
    end_ns: int
    cause: str
    grade: str
    detail: str
    shares: tuple[Share, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class EpisodeStory:
    """One episode of late packets of one direction, as reports tell it; moments in ns."""

    direction: int
    first_seq: int
    start_ns: int
    end_ns: int
    n_packets: int
    n_lost: int
    n_unsent: int  # the transmit call refused them
    n_void: int
    worst_excess_ns: int
    cause: str
    grade: str
    n_by_relation: Mapping[str, int]
    gap: GapStory | None
    missing: tuple[str, ...]
    worst_seq: int
    line: str
    """The episode as one sentence."""


@dataclass(frozen=True)
class CauseTotal:
    """What one cause did to the tail."""

    cause: str
    title: str
    n_episodes: int
    n_packets: int
    n_lost: int
    n_unsent: int
    total_ns: int  # for which its episodes lasted, overlaps counted once
    worst_ns: int
    tail_share: float  # its share of the packets above the threshold
    n_by_grade: Mapping[str, int]  # packets
    n_by_relation: Mapping[str, int]
    remedies: tuple[str, ...]
    ask: str

    @property
    def n_guesses(self) -> int:
        """How many of its packets are only guessed to be its (grade D)."""
        return count_guesses(self.cause, self.n_by_grade)

    @property
    def words(self) -> str:
        """The cause's title, with "maybe" where it is a guess."""
        return title_words(self.title, self.n_guesses, self.n_packets)


@dataclass(frozen=True)
class GapTotal:
    """What one cause did to a thread, whether or not packets were late."""

    thread: str
    cause: str
    n: int
    total_ns: int
    worst_ns: int
    by: Mapping[str, int]  # ns by thread that had, or sent what had, most of these gaps' time
    n_guesses: int = 0
    """How many of the gaps are only guessed to be its (grade D)."""

    @property
    def words(self) -> str:
        """The cause's title, with "maybe" where it is a guess."""
        return title_words(BY_ID[self.cause].title, self.n_guesses, self.n)


@dataclass(frozen=True)
class Source:
    """What an explanation was made from; needed to draw it (export/perfetto.py)."""

    trial: Path | None  # its folder; None: a process without packets
    events: Recorded
    notes: TraceNotes
    verdicts: tuple[GapVerdicts, ...]
    """One for each thread; of a long trace those gaps that may be told one by one."""


@dataclass(frozen=True)
class Explanation:
    """The causes of a trial's tail, or of a process's stalls."""

    name: str
    over: str
    threshold_ns: int | None  # None: no packets, stalls only
    p50_ns: int | None
    n_packets: int
    n_void: int  # of all packets, late or not
    n_tail: int  # packets above the threshold that were recorded
    causes: tuple[CauseTotal, ...]
    worst: tuple[EpisodeStory, ...]
    gap_totals: tuple[GapTotal, ...]
    worst_gaps: tuple[GapStory, ...]
    calibration: Calibration
    calls: tuple[int, int]  # function calls from other cores, and those with a known sender
    counters: Mapping[str, CountersMoved]  # by thread
    missing: tuple[tuple[str, str], ...]  # events the kernel lacks, and what that costs
    notes: tuple[str, ...]
    packets: pa.Table | None = field(repr=False)  # every packet of the tail with its verdict
    episodes: pa.Table | None = field(repr=False)
    source: Source = field(repr=False)
    base_ns: int | None = None
    """The latency above which lateness counts; None: no packets."""
    n_above: int = 0
    """Packets above the threshold, recorded or not."""
    vetoed: VetoCounts = field(default_factory=VetoCounts)
    offenders: tuple[Offender, ...] = ()
    heading: str = ""
    """The trial's name for people: device, load, repetition."""

    @property
    def gaps(self) -> pa.Table:
        """Every gap whose verdict was kept, with GAP_COLUMNS; each time it is asked for anew."""
        return gap_table(self.source.verdicts)

    def share_of(self, cause: str) -> float:
        """The share of the tail that has this verdict."""
        return sum(total.tail_share for total in self.causes if total.cause == cause)
