"""A run over states of the host, placements or neighbours, in words: what each did to a device.

Figures are medians over the runs of a state, of packets without void ones: the generator's own
stalls are no matter of the device, and states that free the device's core load the generator's.
Where one side loses another share of its packets, nothing is claimed: what is lost has no latency.
A run whose state somebody else changed meanwhile is of no state, and is left out.
What is said of all devices in all surroundings is one table, judged as `claims.py` has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from taut.analysis.claim_words import change_words, few_words
from taut.analysis.claims import Evidence, Judged, Said, judge_table
from taut.analysis.load import LoadKey, load_of, load_words, rate_words
from taut.analysis.runs import figure_of, ratio_evidence
from taut.analysis.surroundings import Change, changes_among
from taut.core.units import format_ns
from taut.records.documents.load import Load
from taut.records.documents.results import WITHOUT_VOID, TrialResult

TAIL = ("p99.9", "p99")
"""Percentiles that stand for the tail: the first one that as many runs support as any is taken."""

MOST_CHANGES = 3
"""A sentence says no more than so many; the table of effects has all."""

_Device = tuple[str | None, LoadKey]
"""Its name and its load: runs under another load are no repetitions."""


@dataclass(frozen=True)
class _Change:
    """One figure of a device, in two surroundings."""

    of: Change
    device: _Device
    load: Load
    figure: str
    old_ns: float
    new_ns: float
    evidence: Evidence


_Table = Sequence[tuple[_Change, Judged]]


@dataclass(frozen=True)
class Effect:
    """One figure of a device before and after a change of its surroundings, and what is shown."""

    change: str
    """What is set beside what: "cache beside idle"."""
    device: str
    load: Load
    figure: str
    old_ns: float
    new_ns: float
    said: str


@dataclass(frozen=True)
class FoundOfStates:
    """What a run over states of the host, placements or neighbours found."""

    sentence: str
    few: str
    """Says that so few runs allow no claim, and how many would; empty where they are enough."""


def found_of_states(results: Sequence[TrialResult]) -> FoundOfStates | None:
    """Compare every state, place and neighbour with the first; None where there is only one."""
    wanted, table = _judged(results)
    if not wanted:
        return None
    named = _greatest(wanted, table)
    parts = [_part([row for row in table if row[0].of == one], one, wanted) for one in named]
    if len(named) < len(wanted):
        parts.append(f"{len(wanted) - len(named)} more in the table")
    few = [few_words(change.evidence, judged) for change, judged in table]
    said = next(filter(None, few), "")
    of_host = all(one.of_host for one in wanted)
    more = f"{said} (`taut trim` makes one)" if said and of_host else said
    basis = " (medians of runs)" if table else ""
    return FoundOfStates(f"{'; '.join(parts)}{basis}.", more)


def effects_of(results: Sequence[TrialResult]) -> list[Effect]:
    """Give every figure the sentence is made of; empty where it has them all."""
    wanted, table = _judged(results)
    if len(wanted) <= MOST_CHANGES:
        return []
    return [
        Effect(
            change=_told(change.of, wanted),
            device=str(change.device[0]),
            load=change.load,
            figure=_name(change.figure),
            old_ns=change.old_ns,
            new_ns=change.new_ns,
            said=change_words(change.evidence, judged),
        )
        for change, judged in table
    ]


def _judged(results: Sequence[TrialResult]) -> tuple[list[Change], _Table]:
    """Give what is set beside what, and all figures of that as one table."""
    whole = [r for r in results if r.is_whole and not r.device.is_floor]
    wanted = changes_among(r.device for r in whole)
    kept = [r for r in whole if not r.not_kept]
    changes = [change for one in wanted for change in _changes(kept, one)]
    judged = judge_table([change.evidence for change in changes])
    return wanted, list(zip(changes, judged, strict=True))


def _greatest(wanted: Sequence[Change], table: _Table) -> list[Change]:
    """Choose those that a sentence can hold: where a figure changed most, in their own order."""

    def size(one: Change) -> float:
        return max((abs(c.evidence.estimate) for c, _ in table if c.of == one), default=0.0)

    greatest = sorted(wanted, key=size, reverse=True)[:MOST_CHANGES]
    return [one for one in wanted if one in greatest]


def _changes(results: Sequence[TrialResult], of: Change) -> list[_Change]:
    """Give of every device the median and the tail, where runs on both sides support them."""
    devices = list(dict.fromkeys(_device_of(r) for r in results))
    found = []
    for device in devices:
        mine = [r for r in results if _device_of(r) == device]
        first, second = (
            [r for r in mine if r.device.surroundings == side] for side in (of.before, of.after)
        )
        found += [_change(first, second, "p50", of), _tail(first, second, of)]
    return [change for change in found if change is not None]


def _tail(
    first: Sequence[TrialResult], second: Sequence[TrialResult], of: Change
) -> _Change | None:
    """Give the farthest percentile that no run is lost for: fewer runs may be no proof."""
    found = [change for name in TAIL if (change := _change(first, second, name, of))]
    most = max((sum(change.evidence.n_runs) for change in found), default=0)
    return next((change for change in found if sum(change.evidence.n_runs) == most), None)


def _device_of(result: TrialResult) -> _Device:
    return result.device.dut, load_of(result)


def _change(
    first: Sequence[TrialResult], second: Sequence[TrialResult], figure: str, of: Change
) -> _Change | None:
    evidence = ratio_evidence(first, second, figure, WITHOUT_VOID)
    if evidence is None:
        return None
    old, new = (
        median(v for r in side if (v := figure_of(r, figure, WITHOUT_VOID)) is not None)
        for side in (first, second)
    )
    return _Change(of, _device_of(first[0]), first[0].load, figure, old, new, evidence)


def _part(table: _Table, of: Change, among: Sequence[Change]) -> str:
    loads = {change.device: change.load for change, _ in table}
    parts = []
    for device, load in loads.items():
        said = [_words(change, judged) for change, judged in table if change.device == device]
        parts.append(f"{device[0]}{_at(load, list(loads.values()))} {', '.join(said)}")
    found = "; ".join(parts) or "nothing can be compared"
    words = _told(of, among)
    return f"{words[0].upper()}{words[1:]}: {found}"


def _told(of: Change, among: Sequence[Change]) -> str:
    """Name a change so that no other is called alike."""
    is_told = all(one.words != of.words for one in among if one is not of)
    return of.words if is_told else f"{of.words} ({of.rest(among)})"


def _name(figure: str) -> str:
    return "median" if figure == "p50" else figure


def _at(load: Load, loads: Sequence[Load]) -> str:
    """Say under which load, as shortly as tells it from the others; empty where there is one."""
    others = [other for other in loads if other != load]
    if any(other.asked_pps == load.asked_pps for other in others):
        return f" at {load_words(load)}"
    return f" at {rate_words(load.asked_pps)}" if others else ""


def _words(change: _Change, judged: Judged) -> str:
    words = f"{_name(change.figure)} {format_ns(change.old_ns)} → {format_ns(change.new_ns)}"
    if judged.said is Said.TOO_FEW:
        return words
    return f"{words} ({change_words(change.evidence, judged)})"
