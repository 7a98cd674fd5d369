"""match.json: what taut-match found in a pair of captures; docs/matching.md defines the classes."""

from dataclasses import dataclass, field
from math import gcd

from taut.records.documents.json_field import rest
from taut.records.documents.json_form import JsonObject

MATCH_FILE = "match.json"


@dataclass(frozen=True)
class MatchNote:
    """Something odd in a capture file, in words."""

    text: str
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class Leap:
    """A time stamp beside which later frames of its file are a window or more too early."""

    pos: int
    """The frame that has it, counted from 0."""
    ahead_ns: int
    """How much earlier the first of the others is."""
    frames_behind: int
    """How many frames are too early; other leaps' are among them."""


@dataclass(frozen=True)
class CaptureSide:
    """One of the two files."""

    path: str
    frames: int
    first_ns: int
    last_ns: int
    """First and last are 0 where there are no frames."""
    longest_frame: int = 0
    """Bytes on the wire; 0 where there are no frames."""
    too_short_for_key: int = 0
    cut_off: int = 0
    snapped: int = 0
    backwards: int = 0
    dropped: int = 0
    """Packets that whoever captured dropped, as the file says; 0 also where it cannot say."""
    format: str = ""
    compression: str = ""
    resolution_ns: int | None = None
    """The greatest divisor of 1 s that divides every time stamp of the file; None: not known."""
    leap: Leap | None = None
    """The first one; None: time runs backwards by less than the window, if at all."""
    notes: tuple[MatchNote, ...] = ()
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class Envelope:
    """The least latency of each stretch of time, from which the clocks' drift is estimated."""

    bins: tuple[tuple[int, int, int], ...]
    """For each stretch: when it lies, its least latency (both in ns), and its packets."""
    width_ns: int | None = None


@dataclass(frozen=True)
class MatchCounts:
    """How many frames taut-match put into each class; docs/matching.md says what they mean."""

    matched: int
    lost: int
    duplicates: int
    duplicate_keys: int
    ambiguous_ingress: int
    ambiguous_egress: int
    orphans: int
    beyond_window: int
    negative: int
    out_of_sequence: int
    truncated_ingress: int
    truncated_egress: int
    skipped_warmup: int
    """Matched packets of the warm-up."""
    ingress_frames: int
    egress_frames: int


@dataclass(frozen=True)
class MatchReport:
    """A pair of captures, matched."""

    ingress: CaptureSide
    egress: CaptureSide
    counts: MatchCounts
    key: str
    window_ns: int
    skip_ns: int
    egress_offset_ns: int
    egress_drift_ppb: float
    envelope: Envelope

    @property
    def resolution_ns(self) -> int:
        """The unit of latencies, which that of either file's stamps holds; 1 where not known."""
        return gcd(self.ingress.resolution_ns or 1, self.egress.resolution_ns or 1)


@dataclass(frozen=True)
class Capture(MatchReport):
    """The part of match.json that a trial.json keeps."""

    together_with: tuple[str, ...] = ()
    """Folders of the trials it was searched by content together with."""


def capture_of(report: MatchReport, together_with: tuple[str, ...]) -> Capture:
    """Add to a report what it was searched with."""
    return Capture(**vars(report), together_with=together_with)
