"""A run over states of the host in words: what each device gained, and how far that is shown.

Figures are medians over the runs of a state, of packets without void ones: the generator's own
stalls are no matter of the device, and states that free the device's core load the generator's.
What is said of all devices and states is one table, judged as `claims.py` has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from taut.analysis.claim_words import change_words, few_words
from taut.analysis.claims import Evidence, Judged, Said, judge_table
from taut.analysis.load import LoadKey, load_of, load_words, rate_words
from taut.analysis.runs import figure_of, ratio_evidence
from taut.core.units import format_ns
from taut.records.documents.load import Load
from taut.records.documents.results import WITHOUT_VOID, TrialResult
from taut.records.documents.trial import AS_FOUND

TAIL = ("p99.9", "p99")
"""Percentiles that stand for the tail: the first one that the runs support is taken."""

_Device = tuple[str | None, LoadKey]
"""Its name and its load: runs under another load are no repetitions."""


@dataclass(frozen=True)
class _Change:
    """One figure of a device, in the first state and in another one."""

    state: str
    device: _Device
    load: Load
    figure: str
    old_ns: float
    new_ns: float
    evidence: Evidence


def states_of(results: Sequence[TrialResult]) -> list[str]:
    """Name the states of a run, as found first."""
    names = list(dict.fromkeys(result.device.host for result in results))
    return sorted(names, key=lambda name: name != AS_FOUND)


@dataclass(frozen=True)
class FoundOfStates:
    """What a run over states of the host found."""

    sentence: str
    few: str
    """Says that so few runs allow no claim, and how many would; empty where they are enough."""


def found_of_states(results: Sequence[TrialResult]) -> FoundOfStates | None:
    """Compare every state with the first one; None where the run has only one state."""
    whole = [r for r in results if r.is_whole and not r.device.is_floor]
    states = states_of(whole)
    if len(states) < 2:
        return None
    changes = [change for state in states[1:] for change in _changes(whole, states[0], state)]
    judged = judge_table([change.evidence for change in changes])
    table = list(zip(changes, judged, strict=True))
    parts = [
        _part([row for row in table if row[0].state == state], states[0], state)
        for state in states[1:]
    ]
    few = [few_words(change.evidence, judged) for change, judged in table]
    said = next(filter(None, few), "")
    more = f"{said} (`taut trim` makes one)" if said else ""
    basis = " (medians of runs)" if table else ""
    return FoundOfStates(f"{'; '.join(parts)}{basis}.", more)


def _changes(results: Sequence[TrialResult], before: str, after: str) -> list[_Change]:
    """Give of every device the median and the tail, where runs in both states support them."""
    devices = list(dict.fromkeys(_device_of(r) for r in results))
    found = []
    for device in devices:
        mine = [r for r in results if _device_of(r) == device]
        first, second = ([r for r in mine if r.device.host == state] for state in (before, after))
        tails = [_change(first, second, name, after) for name in TAIL]
        found += [_change(first, second, "p50", after), tails[0] or tails[1]]
    return [change for change in found if change is not None]


def _device_of(result: TrialResult) -> _Device:
    return result.device.dut, load_of(result)


def _change(
    first: Sequence[TrialResult], second: Sequence[TrialResult], figure: str, state: str
) -> _Change | None:
    evidence = ratio_evidence(first, second, figure, WITHOUT_VOID)
    if evidence is None:
        return None
    old, new = (
        median(v for r in side if (v := figure_of(r, figure, WITHOUT_VOID)) is not None)
        for side in (first, second)
    )
    return _Change(state, _device_of(first[0]), first[0].load, figure, old, new, evidence)


def _part(table: Sequence[tuple[_Change, Judged]], before: str, after: str) -> str:
    loads = {change.device: change.load for change, _ in table}
    parts = []
    for device, load in loads.items():
        said = [_words(change, judged) for change, judged in table if change.device == device]
        parts.append(f"{device[0]}{_at(load, list(loads.values()))} {', '.join(said)}")
    found = "; ".join(parts) or "nothing can be compared"
    return f"{after.capitalize()} beside {before}: {found}"


def _at(load: Load, loads: Sequence[Load]) -> str:
    """Say under which load, as shortly as tells it from the others; empty where there is one."""
    others = [other for other in loads if other != load]
    if any(other.asked_pps == load.asked_pps for other in others):
        return f" at {load_words(load)}"
    return f" at {rate_words(load.asked_pps)}" if others else ""


def _words(change: _Change, judged: Judged) -> str:
    name = "median" if change.figure == "p50" else change.figure
    words = f"{name} {format_ns(change.old_ns)} → {format_ns(change.new_ns)}"
    if judged.said is Said.TOO_FEW:
        return words
    return f"{words} ({change_words(change.evidence, judged)})"
