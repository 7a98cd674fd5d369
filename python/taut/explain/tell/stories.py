"""The worst episodes one by one: what happened, who did it, what is missing to know more."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from taut.core.units import format_ns
from taut.explain import causes
from taut.explain.cause import Cause
from taut.explain.causes import CAUSES
from taut.explain.judge.blame import Relation, queue_reason
from taut.explain.judge.device import NO_GAP
from taut.explain.judge.kernel_path import SOFTIRQ
from taut.explain.judge.one_line import OneLine
from taut.explain.judge.verdicts import LETTERS, NOT_KEPT
from taut.explain.read.packets import Tail
from taut.explain.read.spans import Spans, overlaps
from taut.explain.tell.episodes import (
    JudgedTail,
    relation_counts,
    worst_episodes,
)
from taut.explain.tell.gaps import tell_gap
from taut.explain.tell.result import EpisodeStory, GapStory
from taut.explain.tell.sentences import episode_sentence
from taut.explain.walk.stalls import FROM_EVENTS
from taut.records.documents.explanation import VetoCounts


def tell_episodes(
    judged: JudgedTail,
    device: OneLine | None,
    generator: OneLine | None,
    n: int,
    lacking: Callable[[int, int], str],
) -> tuple[EpisodeStory, ...]:
    """Describe the worst episodes.

    `lacking` says what lacks where no device was watched when a packet was under way, from its
    sending to its receipt, or one that slept.
    """
    return tuple(
        _tell(judged, int(e), device, generator, lacking)
        for e in worst_episodes(judged, n).tolist()
    )


def _tell(
    judged: JudgedTail,
    episode: int,
    device: OneLine | None,
    generator: OneLine | None,
    lacking: Callable[[int, int], str],
) -> EpisodeStory:
    tail, rows = judged.tail, slice(int(judged.first[episode]), int(judged.end[episode]))
    worst = rows.start + int(np.argmax(judged.excess_ns[rows]))
    cause = CAUSES[int(judged.cause[rows.start])]
    gap = _gap_of(judged, worst, rows, generator if cause is causes.MEASURER else device)
    missing = gap.missing if gap is not None else ()
    if gap is None or cause is causes.MEASURER:
        dark = generator is not None and _was_skipped(generator.spans, tail, worst)
        lacked = lacking(int(tail.sent_ns[worst]), int(tail.received_ns[worst]))
        missing = tuple(_missing(cause, device, dark, lacked))
        if any(NO_GAP in words for words in missing):
            missing = _beside(judged, worst, device, generator) or missing
    if judged.blame.is_combined[worst]:
        missing = (*missing, "one cause that is half of the lateness: several came together")
    grade = LETTERS[int(judged.grade[rows].max())]
    story = EpisodeStory(
        direction=int(tail.direction[rows.start]),
        first_seq=int(tail.seq[rows.start]),
        start_ns=int(tail.sent_ns[rows].min()),
        end_ns=int(tail.received_ns[rows].max()),
        n_packets=rows.stop - rows.start,
        n_lost=int(np.count_nonzero(tail.is_lost[rows])),
        n_unsent=int(np.count_nonzero(tail.is_unsent[rows])),
        n_void=int(np.count_nonzero(tail.is_void[rows])),
        worst_excess_ns=int(judged.excess_ns[worst]),
        cause=cause.id,
        grade=grade,
        n_by_relation=relation_counts(judged.blame.relation[rows]),
        gap=gap,
        missing=missing,
        worst_seq=int(tail.seq[worst]),
        line="",
    )
    words = episode_sentence(story, story.worst_seq, _reason(judged, worst, cause, gap))
    return replace(story, line=words)


def _gap_of(judged: JudgedTail, worst: int, rows: slice, line: OneLine | None) -> GapStory | None:
    """Give the gap of an episode's worst packet; where it has none, that of most packets."""
    gaps = judged.blame.gap[rows]
    gaps = gaps[gaps >= 0]
    if line is None or not len(gaps):
        return None
    own = int(judged.blame.gap[worst])
    values, counts = np.unique(gaps, return_counts=True)
    return tell_gap(*line.at(own if own >= 0 else int(values[np.argmax(counts)])))


def _was_skipped(spans: Spans, tail: Tail, packet: int) -> bool:
    """Whether events were not kept while a packet was on its way."""
    own = slice(packet, packet + 1)
    return bool(overlaps(tail.sent_ns[own], tail.received_ns[own], *spans.skipped)[0])


def _missing(cause: Cause, device: OneLine | None, was_skipped: bool, no_thread: str) -> list[str]:
    if cause is not causes.UNKNOWN:
        return []
    if device is None and no_thread:
        return [no_thread]
    if device is None:
        return ["the device's own log of gaps, and kernel events of its thread"]
    if device.spans.thread == FROM_EVENTS and was_skipped:
        return [NOT_KEPT]
    if device.spans.thread == FROM_EVENTS:
        return ["the device's own log of gaps: stalls without kernel events are not seen"]
    if device.spans.thread == SOFTIRQ:
        return ["the time before its core was told of it, or after it had left the device"]
    if no_thread:
        return [no_thread]
    return [f"a gap: {NO_GAP}; it was the device, the path, or what the logs grant as work"]


def _beside(judged: JudgedTail, packet: int, *lines: OneLine | None) -> tuple[str, ...]:
    """Say what the gaps that touch a packet's way lack to explain it; empty: none touches it."""
    tail, own = judged.tail, slice(packet, packet + 1)
    at = tail.sent_ns[own], tail.received_ns[own]
    spans = [line.spans for line in lines if line is not None]
    if not any(overlaps(*at, one.start_ns, one.end_ns)[0] for one in spans):
        return ()
    if judged.blame.covered_ns[packet]:
        return ("gaps that cover half of it",)
    return ("a gap that explains it: those in its way are too short, or it was not held by them",)


def _reason(judged: JudgedTail, packet: int, cause: Cause, gap: GapStory | None) -> str:
    tail = judged.tail
    if cause is causes.QUEUEING:
        why = queue_reason(int(tail.n_recent[packet]), int(tail.latency_ns[packet]), judged.normal)
        n = int(tail.in_flight[packet])
        if not n:
            return f"the device was busy with packets that it had taken already ({why})"
        packets = _count(n, "packet")
        return f"it waited behind {packets} sent before it and not yet back ({why})"
    if judged.blame.relation[packet] == Relation.HELD_BACK:
        return "the device held it back while the generator stood still"
    covered = int(judged.blame.covered_ns[packet])
    if judged.blame.is_combined[packet]:
        return f"several causes took {format_ns(covered)} together, this one the most"
    if cause is causes.UNKNOWN and covered and gap is None:
        return f"nothing recorded says why; gaps cover only {format_ns(covered)}"
    return ""


def veto_words(counts: VetoCounts) -> str:
    """Say how many stalls and packets the veto took back; empty: none."""
    n_device, n_generator = counts.device_stalls, counts.generator_stalls
    parts = [
        words
        for n, words in (
            (n_device, f"{_count(n_device, 'stall')} of the device"),
            (n_generator, f"{_count(n_generator, 'stall')} of the generator"),
            (counts.packets, f"the blame of {_count(counts.packets, 'late packet')}"),
        )
        if n
    ]
    if not parts:
        return "no stall was vetoed: no packet passed while one is said to have lasted"
    return f"vetoed, because packets passed meanwhile: {', '.join(parts)}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def call_words(n_calls: int, n_known: int) -> str:
    """Say how many calls from other cores have a known sender; empty: there were no calls."""
    if not n_calls:
        return ""
    # 100 % only where every sender is known.
    percent = "100" if n_known == n_calls else f"{min(100 * n_known / n_calls, 99.9):.1f}"
    return f"function calls from other cores: {n_calls:,}, sender known {n_known:,} ({percent} %)"
