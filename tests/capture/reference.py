"""docs/matching.md once more, as slowly and plainly as it can be said: what every matcher must
agree with. Each class below is found by looking at all frames with the same key."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from made_captures import Frame, default_key
from taut.records.layout import PacketFlag

OUT_OF_SEQUENCE, COLD = PacketFlag.OUT_OF_SEQUENCE, PacketFlag.COLD
# The flag of each class in a packet record.
FLAGS = {
    "matched": 0,
    "lost": 0,
    "beyond_window": PacketFlag.LATE,
    "duplicate": PacketFlag.DUPLICATE,
    "orphan": PacketFlag.ORPHAN,
    "ambiguous": PacketFlag.AMBIGUOUS,
    "truncated": PacketFlag.TRUNCATED,
}


@dataclass(eq=False)
class Seen:
    """A frame, and what becomes of it."""

    side: int  # 0: ingress, 1: egress
    pos: int
    ts_ns: int
    clock_ns: int
    key: bytes | None
    frame_len: int
    fate: str = ""
    partner: "Seen | None" = None  # matched with; egress: owner, or nearest if beyond the window
    is_out_of_sequence: bool = False

    @property
    def order(self) -> tuple[int, int, int]:
        return self.clock_ns, self.side, self.pos

    def distance_ns(self, other: "Seen") -> int:
        return abs(self.clock_ns - other.clock_ns)


@dataclass
class Matching:
    """Both files with the fate of every frame."""

    ingress: list[Seen]
    egress: list[Seen]
    duplicate_keys: int = 0


def match(
    ingress: Iterable[tuple[int, bytes | None, int]],
    egress: Iterable[tuple[int, bytes | None, int]],
    window_ns: int,
) -> Matching:
    """Match two files, given as time stamp, key (None: truncated) and length of each frame."""
    result = Matching(_seen(0, ingress), _seen(1, egress))
    grouped: defaultdict[bytes, tuple[list[Seen], list[Seen]]] = defaultdict(lambda: ([], []))
    for frame in result.ingress + result.egress:
        if frame.key is None:
            frame.fate = "truncated"
        else:
            grouped[frame.key][frame.side].append(frame)
    for of_ingress, of_egress in grouped.values():
        result.duplicate_keys += _mark_ambiguous(of_ingress, window_ns)
        _judge_egress(of_ingress, of_egress, window_ns)
        for frame in of_ingress:
            frame.fate = frame.fate or "lost"
    _mark_out_of_sequence(result.egress)
    return result


def _seen(side: int, frames: Iterable[tuple[int, bytes | None, int]]) -> list[Seen]:
    frames = list(frames)
    clocks = accumulate((ts_ns for ts_ns, _, _ in frames), max)
    return [
        Seen(side, pos, ts_ns, clock_ns, key, frame_len)
        for pos, ((ts_ns, key, frame_len), clock_ns) in enumerate(zip(frames, clocks, strict=True))
    ]


def _mark_ambiguous(ingress: list[Seen], window_ns: int) -> int:
    """Rule 1; gives the number of runs."""
    for frame in ingress:
        others = (other for other in ingress if other is not frame)
        if any(frame.distance_ns(other) < window_ns for other in others):
            frame.fate = "ambiguous"
    ambiguous = sorted((f for f in ingress if f.fate == "ambiguous"), key=lambda f: f.order)
    starts = [
        frame
        for index, frame in enumerate(ambiguous)
        if index == 0 or frame.distance_ns(ambiguous[index - 1]) >= window_ns
    ]
    return len(starts)


def _judge_egress(ingress: list[Seen], egress: list[Seen], window_ns: int) -> None:
    """Rules 2 to 5."""
    owned: defaultdict[Seen, list[Seen]] = defaultdict(list)
    for frame in egress:
        before = max((i for i in ingress if i.order < frame.order), key=_order, default=None)
        after = min((i for i in ingress if i.order > frame.order), key=_order, default=None)
        candidates = [i for i in (before, after) if i is not None]
        near = [i for i in candidates if frame.distance_ns(i) < window_ns]
        nearly = [i for i in candidates if frame.distance_ns(i) < 2 * window_ns]
        if near:
            owned[near[0]].append(frame)
        elif nearly:
            frame.fate = "beyond_window"
            frame.partner = min(nearly, key=frame.distance_ns)
        else:
            frame.fate = "orphan"
    for owner, frames in owned.items():
        _judge_owned(owner, frames)


def _judge_owned(owner: Seen, frames: list[Seen]) -> None:
    """Rules 3 and 4."""
    if owner.fate == "ambiguous":
        for frame in frames:
            frame.fate = "ambiguous"
        return
    after = [frame for frame in frames if frame.order > owner.order]
    chosen = min(after, key=_order) if after else max(frames, key=_order)
    for frame in frames:
        frame.fate, frame.partner = "duplicate", owner
    chosen.fate = owner.fate = "matched"
    owner.partner = chosen


def _order(frame: Seen) -> tuple[int, int, int]:
    return frame.order


def _mark_out_of_sequence(egress: list[Seen]) -> None:
    highest = -1
    for frame in egress:
        if frame.fate == "matched":
            frame.partner.is_out_of_sequence = frame.partner.pos < highest
            highest = max(highest, frame.partner.pos)


def match_frames(ingress: Sequence[Frame], egress: Sequence[Frame], window_ns: int) -> Matching:
    """Match made frames by their default keys."""
    sides = [
        [(frame.ts_ns, default_key(frame), frame.wire_len) for frame in frames]
        for frames in (ingress, egress)
    ]
    return match(*sides, window_ns)


Row = tuple[int, int, int, int, int, int | None, int | None, int | None, int]


def rows(matching: Matching, skip_ns: int = 0) -> Counter[Row]:
    """Give the rows of packets.parquet, in no order."""
    first_ns = [frames[0].ts_ns if frames else 0 for frames in (matching.ingress, matching.egress)]
    found: Counter[Row] = Counter()
    for frame in matching.ingress + matching.egress:
        if frame.side == 1 and frame.fate == "matched":
            continue
        flags = FLAGS[frame.fate]
        flags += OUT_OF_SEQUENCE if frame.is_out_of_sequence else 0
        flags += COLD if _is_cold(frame, first_ns[frame.side], skip_ns) else 0
        own_ns = frame.ts_ns - first_ns[0]
        if frame.side == 0:
            received_ns = frame.partner.ts_ns - first_ns[0] if frame.partner else None
            found[(frame.pos, 0, 0, frame.frame_len, flags, None, own_ns, received_ns, 0)] += 1
        else:
            seq = frame.partner.pos if frame.partner else 0
            found[(seq, 0, 0, frame.frame_len, flags, None, None, own_ns, 0)] += 1
    return found


def _is_cold(frame: Seen, first_ns: int, skip_ns: int) -> bool:
    """Where no warm-up is declared, nothing is cold, even if time runs backwards."""
    return skip_ns > 0 and frame.ts_ns - first_ns < skip_ns


def counts(matching: Matching, skip_ns: int = 0) -> dict[str, int]:
    """Give the counts of match.json."""
    ingress = Counter(frame.fate for frame in matching.ingress)
    egress = Counter(frame.fate for frame in matching.egress)
    matched = [frame for frame in matching.ingress if frame.fate == "matched"]
    first_ns = matching.ingress[0].ts_ns if matching.ingress else 0
    return {
        "ingress_frames": len(matching.ingress),
        "egress_frames": len(matching.egress),
        "matched": ingress["matched"],
        "lost": ingress["lost"],
        "duplicates": egress["duplicate"],
        "duplicate_keys": matching.duplicate_keys,
        "ambiguous_ingress": ingress["ambiguous"],
        "ambiguous_egress": egress["ambiguous"],
        "orphans": egress["orphan"],
        "beyond_window": egress["beyond_window"],
        "negative": sum(frame.partner.ts_ns < frame.ts_ns for frame in matched),
        "out_of_sequence": sum(frame.is_out_of_sequence for frame in matched),
        "truncated_ingress": ingress["truncated"],
        "truncated_egress": egress["truncated"],
        "skipped_warmup": sum(_is_cold(frame, first_ns, skip_ns) for frame in matched),
    }
