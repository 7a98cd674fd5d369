"""Which variants of two runs may be compared: those under the same load, over comparable paths."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taut.analysis.load import departures_of, load_words
from taut.analysis.results import analyse_run
from taut.analysis.trial_tables import DISTRIBUTION
from taut.core.errors import InputError
from taut.records.documents.results import (
    RESULTS_FORMAT,
    Analysis,
    Variant,
    read_analysis_files,
)
from taut.records.rundir import RunDirectory

AnalysedRun = tuple[RunDirectory, Analysis]

RATE_TOLERANCE = 0.01
"""Rates this close are the same: those of captures are measured, and no source is exact."""

_NIC = "pci"
_VIRTUAL = ("memif", "veth", "xdp", "virtio", "vhost")


@dataclass(frozen=True)
class Match:
    """A variant of A and the one of B it is compared with."""

    a: Variant
    b: Variant


def read_analysis(run: RunDirectory) -> Analysis:
    """Give a run's analysis as it was written; analyse it where there is none that fits."""
    return _written_analysis(run) or analyse_run(run)


def is_analysed(run: RunDirectory) -> bool:
    """Whether a run has an analysis that fits, so that nothing needs its records."""
    return _written_analysis(run) is not None


def _written_analysis(run: RunDirectory) -> Analysis | None:
    """Give a run's analysis as it was written; None: there is none that fits."""
    trials = run.trials()
    try:
        analysis = read_analysis_files(run.path)
    except InputError:
        return None
    is_current = analysis.format == RESULTS_FORMAT
    is_current &= [result.name for result in analysis.trials] == [trial.name for trial in trials]
    is_current &= all((t.path / DISTRIBUTION).is_file() for t in trials if t.is_whole)
    return analysis if is_current else None


def match_variants(a: AnalysedRun, b: AnalysedRun) -> tuple[list[Match], list[str]]:
    """Pair variants, devices first; say which have no counterpart.

    InputError where nothing, or nothing but the instrument's floor, is comparable.
    """
    rows_a, rows_b = ([row for row in run[1].variants if row.latency.n] for run in (a, b))
    pairs = [
        Match(row, partner)
        for row in sorted(rows_a, key=lambda row: row.is_floor)
        for partner in [_partner(row, rows_a, rows_b)]
        if partner is not None
    ]
    matches = [pair for pair in pairs if not _crosses_paths(pair)]
    only_floors = all(row.is_floor for row in (*rows_a, *rows_b))
    if not any(only_floors or not match.a.is_floor for match in matches):
        reason = _why_not(rows_a, rows_b, pairs)
        raise InputError(f"{a[0].path} and {b[0].path}: not comparable: {reason}")
    taken = [{id(match.a) for match in matches}, {id(match.b) for match in matches}]
    unmatched = [
        f"only in {name}: {row.called} at {load_words(row.load)}"
        for name, side, seen in zip("AB", (rows_a, rows_b), taken, strict=True)
        for row in side
        if id(row) not in seen
    ]
    return matches, unmatched


def same_load(a: Variant, b: Variant) -> bool:
    """Whether two variants were offered the same: traffic, schedule, flows, frames, rate, ..."""
    x, y = a.load, b.load
    if (x.traffic, x.frame, x.both) != (y.traffic, y.frame, y.both):
        return False
    if departures_of(x) != departures_of(y):
        return False
    return _apart_pps(a, b) <= RATE_TOLERANCE * max(_rate_pps(a), _rate_pps(b))


def nearest_rate(row: Variant, rows: Sequence[Variant]) -> list[Variant]:
    """Of rows of the same load give those whose rate is nearest: within the tolerance are several.

    Bounds of a search are half a percent apart.
    """
    least = min((_apart_pps(row, r) for r in rows), default=0.0)
    return [r for r in rows if _apart_pps(row, r) == least]


def _apart_pps(a: Variant, b: Variant) -> float:
    return abs(_rate_pps(a) - _rate_pps(b))


def _rate_pps(row: Variant) -> float:
    return row.load.asked_pps or row.achieved_pps


def _of_load(row: Variant, rows: Sequence[Variant]) -> list[Variant]:
    """Give the rows of the same load; only those that were asked for the same rate, if any was."""
    near = [r for r in rows if r.is_floor == row.is_floor and same_load(row, r)]
    asked = row.load.asked_pps
    return [r for r in near if asked and r.load.asked_pps == asked] or near


def _partner(row: Variant, rows_a: Sequence[Variant], rows_b: Sequence[Variant]) -> Variant | None:
    """Find the row of B to compare A's `row` with: the only one of its load, or of its name."""
    rivals, found = (_of_load(row, rows) for rows in (rows_a, rows_b))
    # A state of the host is compared with itself where both runs have it; a neighbour likewise.
    around = row.device.surroundings
    if any(r.device.surroundings == around for r in found):
        rivals, found = (
            [r for r in rows if r.device.surroundings == around] for rows in (rivals, found)
        )
    if len(rivals) == 1 and len(found) == 1 and not row.is_floor:
        return found[0]
    found = [r for r in found if r.device.dut == row.device.dut]
    if len(found) > 1 or row.is_floor:
        found = [r for r in found if _path(r) == _path(row)]
    found = nearest_rate(row, found)
    return found[0] if len(found) == 1 else None


def _path(row: Variant) -> tuple[object, ...]:
    return row.device.link, row.device.placement


def _crosses_paths(pair: Match) -> bool:
    """Whether the packets of one went over a network card and those of the other did not."""
    links = {pair.a.device.link, pair.b.device.link}
    return _NIC in links and any(link in links for link in _VIRTUAL)


def _why_not(rows_a: Sequence[Variant], rows_b: Sequence[Variant], pairs: Sequence[Match]) -> str:
    for name, rows in (("A", rows_a), ("B", rows_b)):
        if not rows:
            return f"{name} has no packet with a latency; see its report"
    crossing = [pair for pair in pairs if _crosses_paths(pair)]
    if crossing:
        links = f"A over {crossing[0].a.device.link}, B over {crossing[0].b.device.link}"
        return f"{links}; virtual ports are never set beside a card: measure both over one kind"
    common = next((row for row in rows_a for r in rows_b if same_load(row, r)), None)
    if common is None:
        loads = [_listed(load_words(row.load) for row in rows) for rows in (rows_a, rows_b)]
        return f"no load in common (A: {loads[0]}; B: {loads[1]}); measure both under one load"
    duts = [
        _listed(str(r.device.dut) for r in rows if same_load(common, r))
        for rows in (rows_a, rows_b)
    ]
    return (
        f"no device in common at {load_words(common.load)} (A: {duts[0]}; B: {duts[1]}); "
        "name both alike, or measure one device a run"
    )


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
