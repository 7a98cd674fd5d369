"""One line for each of the worst episodes: what happened, who did it, what helps."""

import numpy as np

from taut.analysis.causes import BY_ID, CAUSES
from taut.analysis.explain.blame import Relation, queue_reason
from taut.analysis.explain.episodes import (
    RELATION_WORDS,
    JudgedTail,
    relation_counts,
    worst_episodes,
)
from taut.analysis.explain.judge import LETTERS, NOT_KEPT, GapVerdicts
from taut.analysis.explain.packets import Tail
from taut.analysis.explain.result import EpisodeStory, GapStory, Share
from taut.analysis.explain.spans import Spans, overlaps
from taut.analysis.explain.verdicts import RESIDUAL, tell_gap
from taut.core.units import format_ns

_MOST_SHARES = 4
_MOST_REMEDIES = 3


def tell_episodes(
    judged: JudgedTail, device: GapVerdicts | None, generator: GapVerdicts | None, n: int
) -> tuple[EpisodeStory, ...]:
    """Tell the worst episodes."""
    return tuple(
        _tell(judged, int(e), device, generator) for e in worst_episodes(judged, n).tolist()
    )


def _tell(
    judged: JudgedTail, episode: int, device: GapVerdicts | None, generator: GapVerdicts | None
) -> EpisodeStory:
    tail, rows = judged.tail, slice(int(judged.first[episode]), int(judged.end[episode]))
    late = tail.is_late[rows]
    worst = rows.start + int(np.argmax(judged.excess_ns[rows]))
    cause = CAUSES[int(judged.cause[rows.start])].id
    gap = _gap_of(judged, worst, rows, generator if cause == "measurer" else device)
    missing = gap.missing if gap is not None else ()
    if gap is None or cause == "measurer":
        dark = generator is not None and _was_skipped(generator.spans, tail, worst)
        missing = tuple(_missing(cause, device, dark))
    grade = LETTERS[int(judged.grade[rows].max())]
    story = EpisodeStory(
        direction=int(tail.direction[rows.start]),
        first_seq=int(tail.seq[rows.start]),
        start_ns=int(tail.sent_ns[rows].min()),
        end_ns=int(tail.received_ns[rows].max()),
        n_packets=rows.stop - rows.start,
        n_lost=int(np.count_nonzero(~late)),
        n_void=int(np.count_nonzero(tail.is_void[rows])),
        worst_excess_ns=int(judged.excess_ns[worst]),
        cause=cause,
        grade=grade,
        n_by_relation=relation_counts(judged.blame.relation[rows]),
        gap=gap,
        missing=missing,
        line="",
    )
    return _with_line(story, _head(judged, worst), _reason(judged, worst, cause))


def _gap_of(judged: JudgedTail, worst: int, rows: slice, of: GapVerdicts | None) -> GapStory | None:
    """The gap of an episode's worst packet, or of most packets where that one has none."""
    gaps = judged.blame.gap[rows]
    gaps = gaps[gaps >= 0]
    if of is None or not len(gaps):
        return None
    own = int(judged.blame.gap[worst])
    values, counts = np.unique(gaps, return_counts=True)
    return tell_gap(of, own if own >= 0 else int(values[np.argmax(counts)]))


def _was_skipped(spans: Spans, tail: Tail, packet: int) -> bool:
    """Whether events were let go while a packet was on its way."""
    of = slice(packet, packet + 1)
    return bool(overlaps(tail.sent_ns[of], tail.received_ns[of], *spans.skipped)[0])


def _missing(cause: str, device: GapVerdicts | None, was_skipped: bool) -> list[str]:
    if cause != "unknown":
        return []
    if device is None:
        return ["the device's own log of gaps, and kernel events of its thread"]
    if device.spans.thread == "kernel" and was_skipped:
        return [NOT_KEPT]
    if device.spans.thread == "kernel":
        return ["the device's own log of gaps: stalls without kernel events are not seen"]
    return ["a gap: every thread polled all the time, the device served this packet slowly"]


def _head(judged: JudgedTail, packet: int) -> str:
    seq, sent = int(judged.tail.seq[packet]), int(judged.tail.sent_ns[packet])
    excess = format_ns(int(judged.excess_ns[packet]))
    return f"pkt {seq} +{excess} over p50 (t={sent / 1e9:.9f} s)"


def _reason(judged: JudgedTail, packet: int, cause: str) -> str:
    tail = judged.tail
    if cause == "queueing":
        why = queue_reason(int(tail.n_recent[packet]), int(tail.latency_ns[packet]), judged.normal)
        return f"{int(tail.in_flight[packet])} packets before it in the device ({why})"
    covered = int(judged.blame.covered_ns[packet])
    if cause == "unknown" and covered:
        return f"gaps cover only {format_ns(covered)}"
    return ""


def _with_line(story: EpisodeStory, head: str, reason: str) -> EpisodeStory:
    gap = story.gap
    parts = [f"{story.cause.upper()} [{story.grade}]"]
    if reason:
        parts[0] += f": {reason}"
    if gap is not None:
        parts[0] += f", {format_ns(gap.end_ns - gap.start_ns)} on core {gap.core}"
        parts += [share_words(share, gap) for share in _told(gap.shares)]
    line = f"{head}: {'; '.join(parts)}"
    if story.missing:
        line += f"; missing: {', '.join(story.missing)}"
    remedies = BY_ID[story.cause].remedies[:_MOST_REMEDIES]
    if remedies:
        line += f" -> {' '.join(remedies)}"
    behind = story.n_by_relation.get(RELATION_WORDS[Relation.QUEUED_BEHIND], 0)
    if behind:
        line += f" | {behind} more packet{'s' if behind > 1 else ''} queued behind it"
    return EpisodeStory(**{**vars(story), "line": line})


def _told(shares: tuple[Share, ...]) -> list[Share]:
    """The largest shares and the residual."""
    return [*[s for s in shares if s.label != RESIDUAL][:_MOST_SHARES], shares[-1]]


def share_words(share: Share, gap: GapStory) -> str:
    """A share as the line tells it."""
    percent = 100 * share.ns / max(gap.end_ns - gap.start_ns, 1)
    words = f"{format_ns(share.ns)} {share.label}"
    if share.detail and share.label != "entry and exit":
        words += f" {share.detail}"
    return f"{words} ({percent:.0f} %)"


def call_words(n_calls: int, n_known: int) -> str:
    """How many calls from other cores have a sender; empty where there were none."""
    if not n_calls:
        return ""
    # 100 % is said only where no sender is missing.
    percent = "100" if n_known == n_calls else f"{min(100 * n_known / n_calls, 99.9):.1f}"
    return f"function calls from other cores: {n_calls:,}, sender known {n_known:,} ({percent} %)"
