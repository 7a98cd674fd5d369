"""Requirements of a soak, judged by its rows: of every segment, whatever became of its records.

How much failures vary from block to block of neighbouring rows, 24 to 48 of a long soak, says how
many independent packets they are worth (effective.py); what slows a device for much longer than a
block is not seen. Where fewer than ten blocks have a failure D cannot be seen: packets are then
taken to be worth a hundredth at most, less than in the worst that was measured (a 92nd).
"""

from collections.abc import Iterator, Sequence

import numpy as np

from taut.analysis.effective import LEAST_ABOVE, paid_for_estimating, rows_a_block
from taut.analysis.judging import AMONG_MANY, why_not_shown, worth_words
from taut.analysis.load import share_words
from taut.analysis.proof import Verdict, chance, may_be_luck, shown
from taut.core.requirement import Requirement
from taut.records.documents.generator import INSTRUMENT_LIMIT
from taut.records.documents.soak import Judgement, Row, Segment
from taut.records.rows import failing, refused

_CLUMPED = 100.0


def judge_rows(
    requirements: Sequence[Requirement], segments: Sequence[Segment], n_planned: float
) -> Iterator[Judgement]:
    """Judge each by the rows of all segments; a share needs packets enough to be shown.

    `n_planned`: how many packets the whole soak was to have, however early it ended; inf: nobody
    knows.
    """
    rows = [row for segment in segments for row in segment.rows]
    measured_ns = sum(segment.measured_ns for segment in segments)
    due, void = (sum(row.counters[name] for row in rows) for name in ("due", "void"))
    n_refused = sum(map(refused, rows))
    found = [_judged(one, rows, n_planned) for one in requirements]
    luck = may_be_luck([chances for _, _, chances in found])
    for one, (verdict, said, _), is_luck in zip(requirements, found, luck, strict=True):
        if verdict is Verdict.NOT_MET and is_luck:
            verdict, said = Verdict.NOT_SHOWN, f"{said}; {AMONG_MANY}"
        n_failed = sum(failing(one, row, own=True) or 0 for row in rows)
        why, _ = why_not_shown(one, verdict, due, n_refused, n_failed, measured_ns)
        if why:
            verdict, said = Verdict.NOT_SHOWN, f"{said}; {why}"
        late = void / max(1, due)
        if verdict is Verdict.MET and late > INSTRUMENT_LIMIT:
            verdict = Verdict.INVALID
            said += f"; the generator itself was late with {share_words(late)} of the packets"
        yield Judgement(one.text, verdict.value, said)


def _judged(
    one: Requirement, rows: Sequence[Row], n_planned: float
) -> tuple[Verdict, str, float | None]:
    """Judge one by itself; with the chance of such a failure, None: luck cannot fail it."""
    own = [failing(one, row, own=True) for row in rows]
    failed = [n for n in own if n is not None]
    if not rows or len(failed) < len(rows):
        return Verdict.NOT_SHOWN, "rows do not say", None
    with_void = sum(failing(one, row, own=False) or 0 for row in rows)
    lost = 1 if one.what in ("loss", "within") else 0
    of = [row.on_time.n + lost * (row.counters["lost"] - row.counters["lost_void"]) for row in rows]
    total, n_failed = sum(of), sum(failed)
    said = f"{n_failed:,} of {total:,} packets that the generator did not hold up failed"
    if one.share_above <= 0 and not n_failed and with_void:
        return Verdict.INVALID, f"{said}; {with_void:,} with those it held up", None
    if not total:
        return Verdict.NOT_SHOWN, "no packet that the generator did not hold up came back", None
    if one.share_above <= 0:
        return (Verdict.NOT_MET if n_failed else Verdict.MET), said, None
    may = one.share_above * n_planned
    if n_failed > may:
        # No statistics: whatever came or is to come, more failed than may of the whole.
        said += f", more than the {may:,.0f} that may of all {n_planned:,.0f} that are planned"
        return Verdict.NOT_MET, said, None
    times = times_as_many(np.array(failed), np.array(of))
    n_eff = int(total / times)
    verdict = shown(n_failed / times, n_eff, one.share_above)
    said += f", {share_words(one.share_above)} may"
    if verdict is Verdict.NOT_SHOWN:
        said += f"; {worth_words(n_failed / times, n_eff, one.share_above)}"
    return verdict, said, chance(n_failed / times, n_eff, one.share_above) if n_eff else None


def times_as_many(failed: np.ndarray, of: np.ndarray) -> float:
    """Give how many packets fail together, by their number in each row: D, paid for estimating."""
    starts = np.arange(0, len(of), rows_a_block(len(of)))
    failed, of = np.add.reduceat(failed, starts), np.add.reduceat(of, starts)
    n_blocks, n_with_one = len(of), np.count_nonzero(failed)
    if not n_with_one or n_blocks < 2:
        return _CLUMPED
    share = failed.sum() / of.sum()
    beyond = (failed - share * of) / np.sqrt(np.maximum(share * of * (1 - share), 1e-9))
    varies = np.sum(beyond**2) + max(0, np.sum(beyond[1:] * beyond[:-1]))
    # In few blocks: nobody can tell how often such blocks come.
    least = 1.0 if n_with_one >= LEAST_ABOVE else _CLUMPED
    return max(least, float(varies) / (n_blocks - 1)) / paid_for_estimating(n_blocks)
