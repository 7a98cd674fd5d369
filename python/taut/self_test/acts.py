"""Acts of taut inject and the gaps they belong to: by their evidence, else by time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taut.explain.arrays import Ints, Mask
from taut.explain.cause import Cause
from taut.explain.causes import NUMBER
from taut.explain.judge.verdicts import GapVerdicts

SLACK_NS = 20_000
"""The switch to a thread that preempts comes before that thread can read the clock."""

AFTER_NS = 100_000
"""An act's effect may come so much later: a queued call is carried out by a later interrupt."""


@dataclass(frozen=True)
class Acts:
    """Acts in the order of time; moments in ns."""

    start_ns: Ints
    end_ns: Ints
    thread: Ints  # who acted

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True)
class Held:
    """What the gaps of a thread hold of one cause; one value for each gap."""

    cause: Cause
    own_ns: Ints  # its share, entry and exit with it
    is_ours: Mask  # one of its events names the injector
    is_others: Mask  # one names somebody else
    is_unsaid: Mask  # one does not name anybody
    who: Sequence[str]  # details of the longest visit


def held_of(verdicts: GapVerdicts, cause: Cause, injectors: frozenset[int]) -> Held:
    """Look for one cause in all gaps, and for who made it."""
    number, n = NUMBER[cause], len(verdicts.spans)
    shares, segments = verdicts.shares, verdicts.segments
    rows = shares.cause == number
    own_ns = np.zeros(n, np.int64)
    own_ns[shares.gap[rows]] = shares.net_ns[rows] + shares.model_ns[rows]
    who = [""] * n
    for gap, visit in zip(shares.gap[rows].tolist(), shares.visit[rows].tolist(), strict=True):
        who[gap] = segments.details[int(segments.visit_detail[visit])]
    masks = {what: np.zeros(n, bool) for what in (True, False, None)}
    for visit in np.flatnonzero(segments.visit_cause == number).tolist():
        detail = segments.details[int(segments.visit_detail[visit])]
        by, is_proved = int(segments.visit_by[visit]), bool(segments.visit_joined[visit])
        # What is proved to be no thread's is an interrupt's.
        ours = by in injectors if is_proved or by >= 0 else _is_marked(cause, detail)
        masks[ours][segments.visit_span[visit]] = True
    return Held(cause, own_ns, masks[True], masks[False], masks[None], who)


def _is_marked(cause: Cause, detail: str) -> bool | None:
    """Whether what happened bears the injector's mark; None: nothing says."""
    if cause.made is None or not cause.made.mark or not detail:
        return None
    return cause.made.mark in detail


def is_found(held: Held, gap: int) -> bool:
    """Whether an act's evidence is there: its cause, and not known to be another's alone."""
    return bool(held.is_ours[gap] or held.is_unsaid[gap])


def inside(acts: Acts, window_ns: tuple[int, int] | None) -> Acts:
    """Leave out the acts around which nothing was recorded."""
    if window_ns is None:
        return acts
    first_ns, last_ns = window_ns
    kept = (acts.start_ns - SLACK_NS >= first_ns) & (acts.end_ns + AFTER_NS <= last_ns)
    return Acts(acts.start_ns[kept], acts.end_ns[kept], acts.thread[kept])


def gap_of(acts: Acts, act: int, verdicts: GapVerdicts, held: Held) -> int:
    """Find the gap of an act, -1: none; the injector's come first, evidence before time alone."""
    start, end = int(acts.start_ns[act]), int(acts.end_ns[act])
    spans = verdicts.spans
    first = int(np.searchsorted(spans.end_ns, start - SLACK_NS, "right"))
    last = int(np.searchsorted(spans.start_ns, end + AFTER_NS, "left"))
    best, best_key = -1, (False, False, 0)
    for gap in range(first, last):
        shared = min(int(spans.end_ns[gap]), end) - max(int(spans.start_ns[gap]), start)
        is_evident = is_found(held, gap)
        # Without evidence only a gap at the act counts, not one after it.
        if is_evident or shared >= -SLACK_NS:
            key = (is_evident, bool(held.is_ours[gap]), shared)
            if best < 0 or key > best_key:
                best, best_key = gap, key
    return best


def gaps_at(acts: Acts, verdicts: GapVerdicts) -> Ints:
    """Give the gaps that overlap any act."""
    first = np.searchsorted(verdicts.spans.end_ns, acts.start_ns - SLACK_NS, "right")
    last = np.searchsorted(verdicts.spans.start_ns, acts.end_ns + SLACK_NS, "left")
    ranges = [np.arange(a, b) for a, b in zip(first, last, strict=True)]
    return np.unique(np.concatenate(ranges)) if ranges else np.empty(0, np.int64)
