"""When a comparison fails a pipeline: `--fail-if "p99 > +10%"`.

It fails only where the whole interval of the growth lies beyond what is allowed, and still does
among all rules and devices (holm.py): what chance may have made is no regression. Where no change
could have been seen, it does not pass: nobody looked.

A device that takes twice as long also spreads twice as much, so that runs of B are ranked among
those of A of which each has grown by what is allowed. The interval is that of the same test: of how
many times as long a run of B is as one of A.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import expm1, log, log1p
from statistics import median

from taut.analysis.claims import CONFIDENCE, LEAST_RUNS
from taut.analysis.compare import Comparison, Pair
from taut.analysis.difference import ROUNDING_NS, Difference, Side, percent
from taut.analysis.holm import ERROR, holm
from taut.analysis.load import load_words, share_words
from taut.analysis.pairing import Alone, Silent
from taut.analysis.proof import Verdict
from taut.analysis.unpaired import least_rank_sum_p, rank_sum_p, shift
from taut.analysis.validity import Unmeasured, why_invalid
from taut.core.errors import InputError, RequirementNotMet, TautError
from taut.core.percentiles import PERCENTILES

_JUDGED = ("mean", *PERCENTILES)

_FORM = re.compile(r"([a-z][a-z0-9.]*) *> *\+([0-9]{1,6}(?:\.[0-9]{1,6})?) *%")


@dataclass(frozen=True)
class FailIf:
    """A figure may grow by so much, not more."""

    figure: str
    share: float
    """Of its value in the first run, 0.1 for ten per cent."""


@dataclass(frozen=True)
class Gate:
    """What one rule says of one device under one load."""

    verdict: Verdict
    said: str


def parse_fail_if(text: str) -> FailIf:
    """Read `p99 > +10%`; InputError where it is not that."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InputError(f'--fail-if {text!r}: not a figure and a growth; write "p99 > +10%"')
    if match[1] not in _JUDGED:
        known = ", ".join(_JUDGED)
        raise InputError(f"--fail-if {text!r}: {match[1]!r} is not compared; these are: {known}")
    return FailIf(match[1], float(match[2]) / 100)


def judge_gates(
    comparison: Comparison, rules: Sequence[FailIf], *, without_void: bool
) -> list[Gate]:
    """Judge every rule of every device; of the floors only where there is nothing else."""
    asked = [(pair, rule, _figure(pair, rule)) for pair in comparison.devices for rule in rules]
    chances = [_chance(rule, found) for _, rule, found in asked]
    corrected = iter(holm([one for one in chances if one is not None]))
    n_judged = sum(one is not None for one in chances)
    # Those that have too few repetitions so far are judged, too, where there are more.
    n_to_judge = sum(
        found.evidence is not None and found.evidence.gone is None and found.improvement is not None
        for _, _, found in asked
    )
    gates = []
    for (pair, rule, found), own in zip(asked, chances, strict=True):
        p = 1.0 if own is None else next(corrected)
        verdict, said = _gate(pair, found, p, (n_judged, n_to_judge), without_void=without_void)
        where = f"{pair.label}, {load_words(pair.a.load)}: {rule.figure}"
        gates.append(Gate(verdict, f"{where} {said}, {_allowed(rule)}"))
    unseen: list[Silent | Alone] = [*comparison.silent_devices, *comparison.missed_devices]
    return gates + [_not_seen(one, rule) for one in unseen for rule in rules]


def refuse_gates(gates: Sequence[Gate]) -> None:
    """Raise RequirementNotMet where a gate fails, TautError where nothing could have failed one."""
    failed = [gate.said for gate in gates if gate.verdict is Verdict.NOT_MET]
    if failed:
        raise RequirementNotMet("; ".join(failed))
    unseen = [f"{g.verdict}: {g.said}" for g in gates if g.verdict is not Verdict.MET]
    if unseen:
        raise TautError("; ".join(unseen))


def _not_seen(one: Silent | Alone, rule: FailIf) -> Gate:
    """Judge a device of which a run has no latency: nothing could have been seen."""
    rows = (one.a, one.b) if isinstance(one, Silent) else ()
    is_failed = any(isinstance(row, Unmeasured) for row in rows)
    verdict = Verdict.INVALID if is_failed else Verdict.NOT_SHOWN
    said = f"{one.where}: {rule.figure} says nothing: {one.why}, {_allowed(rule)}"
    return Gate(verdict, said)


def _allowed(rule: FailIf) -> str:
    return f"+{100 * rule.share:g} % allowed"


def _figure(pair: Pair, rule: FailIf) -> Difference:
    return next(found for found in pair.differences if found.name == rule.figure)


def _chance(rule: FailIf, found: Difference) -> float | None:
    """Give the p-value of a growth by no more than is allowed; None: nothing to judge by."""
    if found.evidence is None or found.improvement is None or found.evidence.gone is not None:
        return None
    if not found.evidence.has_enough_runs:
        return None
    allowed = [one + log1p(rule.share) for one in _logs(found.a, ROUNDING_NS)]
    measured = _logs(found.b, -ROUNDING_NS)
    # The test is two-sided: runs that are shorter differ, too.
    is_more = median(b - a for a in allowed for b in measured) > 0
    return rank_sum_p(allowed, measured) if is_more else 1.0


def _growth_words(found: Difference) -> str:
    """Give the 95 % interval of the growth of a figure of enough runs."""
    low = shift(_logs(found.a, ROUNDING_NS), _logs(found.b, -ROUNDING_NS), CONFIDENCE)
    high = shift(_logs(found.a, -ROUNDING_NS), _logs(found.b, ROUNDING_NS), CONFIDENCE)
    assert low is not None and high is not None, f"{found.name}: too few runs"
    return f"{percent(expm1(low.low))} to {percent(expm1(high.high))} %"


def _logs(side: Side, more_ns: int) -> list[float]:
    """Give the logarithm of each run's figure, `more_ns` longer, as rounding may hide."""
    return [log(max(1.0, value + more_ns)) for value in side.supported_ns]


def _gate(
    pair: Pair, found: Difference, p: float, n_gates: tuple[int, int], *, without_void: bool
) -> tuple[Verdict, str]:
    """Judge one rule of a device by its p-value among all of them.

    `n_gates`: how many are judged, and how many with enough repetitions.
    """
    n_judged, n_to_judge = n_gates
    for side, row, n_failed in pair.sides:
        why = why_invalid(row, n_failed, without_void=without_void)
        if why:
            return Verdict.INVALID, f"says nothing: in {side} {why}"
    if found.evidence is None:
        return Verdict.NOT_SHOWN, "rests on too few packets"
    if found.improvement is None:
        return Verdict.NOT_SHOWN, "says nothing: it is not above zero in A"
    if found.evidence.gone is not None:
        in_a, in_b = map(share_words, found.evidence.gone)
        return Verdict.NOT_SHOWN, f"says nothing: lost or not sent {in_a} in A, {in_b} in B"
    if not found.evidence.has_enough_runs or n_judged * found.evidence.least_p > ERROR:
        n_runs = min(found.evidence.n_runs)
        return Verdict.NOT_SHOWN, (
            f"rests on {n_runs} repetitions a side with enough packets; {_runs_needed(n_to_judge)} "
            "can fail"
        )
    return (Verdict.NOT_MET if p <= ERROR else Verdict.MET), _growth_words(found)


def _runs_needed(n_gates: int) -> int:
    return next(n for n in count(LEAST_RUNS) if n_gates * least_rank_sum_p(n, n) <= ERROR)
