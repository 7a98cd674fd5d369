"""From candidates to classes: take the best, take away what it explains, look again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taut.analysis.content.control import span_packets, work_of_time
from taut.analysis.content.effect import Description, also_called, describe, tail_share
from taut.analysis.content.fields import Kind
from taut.analysis.content.heads import MatchedFrames
from taut.analysis.content.layers import Mask
from taut.analysis.content.screen import Candidate
from taut.analysis.content.tails import Evidence, Tail, TimeBlocks, Witnesses
from taut.records.documents.content import ContentClass

ALLOWED_ERROR = 1e-3
MAX_CLASSES = 10
_MAX_JUDGED, _MAX_CONFIRMED = 200, 50
_SAME = 0.9  # Jaccard's index of two descriptions of the same packets
_PART, _INSIDE = 0.9, 0.9  # a part is smaller than this, and lies inside to this share
_AS_GOOD = 1 - 1e-9  # of the log of p: the same but for rounding
_MIN_LIFT = 1.5  # a class is in its tail at least half as often again as the rest
_MIN_EXPECTED = 3  # packets of one capture in the tail, if it is like all: fewer may all be missing
_AS_OFTEN = 0.25  # of the class's share in the tail of all captures, in that of one
_SLOW_IN_CAPTURE = float(np.log(0.01))


@dataclass(frozen=True)
class Judged:
    """A candidate, what speaks for it, and the log of its corrected p-value."""

    candidate: Candidate
    evidence: Evidence
    log_p: float


def log_correction(n_tests: int) -> float:
    """Give what is added to the log of p for the tests of its kind and for the other kinds."""
    return float(np.log(max(n_tests, 1) * len(Kind)))


def not_told_of_first(first: slice, is_member: Mask, alive: Mask) -> str | None:
    """Say why the first capture, of which is told, gives no figures of a class; None: it does."""
    if not is_member[first].any():
        return "no packet of this capture has it"
    if not (alive & ~is_member)[first].any():
        return "no packet of this capture is left to compare it with"
    return None


class CandidateSearch:
    """Takes classes one by one; each is judged without the packets of those before it."""

    def __init__(
        self,
        frames: MatchedFrames,
        blocks: TimeBlocks,
        tails: Sequence[Tail],
        n_tests: Mapping[Kind, int],
    ) -> None:
        self._frames = frames
        self._blocks = blocks
        self._captures = frames.captures
        self._tails = {tail.direction: tail for tail in tails}
        self._log_n_tests = {kind: log_correction(n) for kind, n in n_tests.items()}
        self._span = span_packets(frames)
        self.alive = np.ones(len(frames.position), bool)
        """Packets that no class explains."""
        self.rejected: dict[str, str] = {}
        """Candidates that stand out and cannot be told from their moments, and why."""

    def classes(self, candidates: Sequence[Candidate]) -> Iterator[ContentClass]:
        """Give up to MAX_CLASSES classes, the most certain first."""
        judged = self._judge(candidates)
        n_found = 0
        for _ in range(_MAX_CONFIRMED):
            if not judged or n_found == MAX_CLASSES:
                return
            same, others = _alike(judged, self._narrowed(judged))
            found = self._confirm(same)
            judged = others
            if found:
                n_found += 1
                yield found
                judged = self._judge([j.candidate for j in others])

    def _judge(self, candidates: Sequence[Candidate]) -> list[Judged]:
        """Give the candidates to believe, the best first; those "all but one value" come last."""
        witnesses = Witnesses(self._blocks, tuple(self._tails.values()), self.alive)
        judged = []
        for candidate in candidates:
            evidence = witnesses.judge(candidate.members)
            log_p = min(evidence.log_p + self._log_n_tests[candidate.kind], 0.0)
            if log_p < np.log(ALLOWED_ERROR):
                judged.append(Judged(candidate, evidence, log_p))
        judged.sort(key=lambda j: (j.candidate.is_exclusion, j.log_p))
        return judged[:_MAX_JUDGED]

    def _narrowed(self, judged: Sequence[Judged]) -> Judged:
        """Give the best candidate, or the part of it that alone makes it stand out."""
        best = judged[0]
        mask = best.candidate.mask
        for part in judged[1:]:
            n_part = part.candidate.n_members
            if n_part > _PART * best.candidate.n_members:
                continue
            part_mask = part.candidate.mask
            if np.count_nonzero(mask & part_mask) < _INSIDE * n_part:
                continue
            if not self._stands_out(best, mask & ~part_mask):
                return part
        return best

    def _stands_out(self, judged: Judged, is_member: Mask) -> bool:
        tail = self._tails[judged.evidence.direction]
        share = tail_share(tail, judged.evidence.depth, is_member & self.alive, self.alive)
        return share.of_class >= _MIN_LIFT * share.of_rest

    def _confirm(self, same: Sequence[Judged]) -> ContentClass | None:
        chosen = _plainest(same)
        candidate, evidence = chosen.candidate, chosen.evidence
        tail = self._tails[evidence.direction]
        is_member = candidate.mask & self.alive
        if not self._stands_out(chosen, is_member):
            return None
        in_tail = tail.holds(evidence.depth) & self.alive
        reason = work_of_time(is_member, in_tail, self._span, self._captures)
        reason = reason or self._not_of_the_first(evidence, is_member)
        if reason:
            self.rejected[candidate.name] = reason
            return None
        found = describe(
            self._frames,
            self._blocks,
            is_member,
            self.alive,
            tail,
            evidence.depth,
            Description(
                field=candidate.field,
                value=candidate.value,
                p_corrected=float(np.exp(chosen.log_p)),
                also=also_called(candidate.name, (j.candidate.name for j in same)),
            ),
        )
        self.alive &= ~is_member
        return found

    def _not_of_the_first(self, evidence: Evidence, is_member: Mask) -> str | None:
        """Say why a class is none of the first capture, which is told of; None where it is."""
        reason = not_told_of_first(self._captures[0], is_member, self.alive)
        if reason:
            return reason
        tail = self._tails[evidence.direction]
        share = tail_share(tail, evidence.depth, is_member, self.alive).of_class
        does = {
            i: self._stands_out_in(capture, evidence, is_member, share)
            for i, capture in enumerate(self._captures)
            if share * np.count_nonzero(is_member[capture]) >= _MIN_EXPECTED
        }
        if does.get(0, True):
            return None
        return f"stands out in {sum(does.values())} of {len(does)} captures, not in this one"

    def _stands_out_in(
        self, capture: slice, evidence: Evidence, is_member: Mask, share_of_all: float
    ) -> bool:
        """Ask one capture in the tail of all, or in its own: that of all is of the noisiest one."""
        is_here = np.zeros(len(is_member), bool)
        is_here[capture] = True
        tail, members = self._tails[evidence.direction], is_member & is_here
        share = tail_share(tail, evidence.depth, members, self.alive & is_here)
        if share.of_class >= max(_MIN_LIFT * share.of_rest, _AS_OFTEN * share_of_all):
            return True
        alone = TimeBlocks(self._frames.latency_ns[capture])
        own = Tail(alone, evidence.direction)
        if not len(own.depths):
            return False
        witnesses = Witnesses(alone, (own,), self.alive[capture])
        return witnesses.judge(np.flatnonzero(is_member[capture])).log_p < _SLOW_IN_CAPTURE


def _alike(judged: Sequence[Judged], best: Judged) -> tuple[list[Judged], list[Judged]]:
    """Split into those that describe the packets of the best, and the others."""
    mask: Mask = best.candidate.mask
    same: list[Judged] = []
    others: list[Judged] = []
    for other in judged:
        is_same = other.candidate.overlap(mask, best.candidate.n_members) > _SAME
        (same if is_same else others).append(other)
    return sorted(same, key=lambda j: j.candidate.plainness), others


def _plainest(same: Sequence[Judged]) -> Judged:
    """Give the plainest of the best-fitting descriptions: the same packets have the same p."""
    best = min(j.evidence.log_p for j in same)
    return next(j for j in same if j.evidence.log_p <= _AS_GOOD * best)
