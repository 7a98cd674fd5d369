"""Which variants of two runs may be compared: those under the same load, over comparable paths.

What was to be measured is paired, not what was: a device that lost every packet, or whose trials
all failed, is missed, and another one does not stand in for it.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

from taut.analysis.load import departures_of, load_words
from taut.analysis.results import analyse_run
from taut.analysis.trial_tables import DISTRIBUTION
from taut.analysis.validity import Row, Unmeasured, failed_trials, unmeasured, why_no_latency
from taut.core.errors import InputError
from taut.records.documents.json_form import NewerFormatError
from taut.records.documents.results import (
    RESULTS_FORMAT,
    Analysis,
    Variant,
    read_analysis_files,
)
from taut.records.rundir import RunDirectory
from taut.testbed.links import LINKS

AnalysedRun = tuple[RunDirectory, Analysis]

_Row = TypeVar("_Row", bound=Row)

SAME_RATE = 0.01
"""Rates this close are the same: those of captures are measured, and no source is exact."""


@dataclass(frozen=True)
class Match:
    """A variant of A and the one of B it is compared with."""

    a: Variant
    b: Variant


@dataclass(frozen=True)
class Alone:
    """What one of the runs, A or B, measured alone."""

    run: str
    row: Row

    @property
    def where(self) -> str:
        """The device and its load."""
        return f"{self.row.called} at {load_words(self.row.load)}"

    @property
    def why(self) -> str:
        """Which run has it."""
        return f"only in {self.run}"


@dataclass(frozen=True)
class Silent:
    """A device of A and the one of B it belongs to, where one of the runs has no latency of it."""

    a: Row
    b: Row

    @property
    def where(self) -> str:
        """The devices and their load."""
        names = dict.fromkeys(row.device.called for row in (self.a, self.b))
        return f"{' → '.join(names)} at {load_words(self.a.load)}"

    @property
    def why(self) -> str:
        """Which run has none, and why."""
        sides: dict[str, list[str]] = {}
        for name, row in (("A", self.a), ("B", self.b)):
            if words := why_no_latency(row):
                sides.setdefault(words, []).append(name)
        return "; ".join(f"{words} in {' and '.join(of)}" for words, of in sides.items())


def read_analysis(run: RunDirectory) -> Analysis:
    """Give a run's analysis as it was written; analyse it where there is none that fits."""
    return _written_analysis(run) or analyse_run(run)


def is_analysed(run: RunDirectory) -> bool:
    """Whether a run has an analysis that fits, so that nothing needs its records."""
    return _written_analysis(run) is not None


def _written_analysis(run: RunDirectory) -> Analysis | None:
    """Give a run's analysis as it was written; None: there is none that fits.

    NewerFormatError: it is of a newer taut, and nothing is put in its place.
    """
    trials = run.trials()
    try:
        analysis = read_analysis_files(run.path)
    except NewerFormatError:
        raise
    except InputError:
        return None
    is_current = analysis.format == RESULTS_FORMAT
    is_current &= [result.name for result in analysis.trials] == [trial.name for trial in trials]
    is_current &= all((t.path / DISTRIBUTION).is_file() for t in trials if t.is_whole)
    return analysis if is_current else None


def match_variants(a: AnalysedRun, b: AnalysedRun) -> tuple[list[Match], list[Silent], list[Alone]]:
    """Pair variants, devices first; say which have no latency, and which have no counterpart.

    InputError where nothing, or nothing but the instrument's floor, is comparable.
    """
    rows_a, rows_b = (_rows(analysis) for _, analysis in (a, b))
    found = _paired(rows_a, rows_b)
    held = [pair for pair in found if not _crosses_paths(*pair)]
    matches = [match for pair in held if (match := _match(*pair))]
    silent = [Silent(*pair) for pair in held if not _match(*pair)]
    only_floors = all(row.is_floor for row in (*rows_a, *rows_b))
    if not any(only_floors or not match.a.is_floor for match in matches):
        missed = [one for one in silent if only_floors or not one.a.is_floor]
        reason = _why_not(rows_a, rows_b, found, missed)
        raise InputError(f"{a[0].path} and {b[0].path}: not comparable: {reason}")
    alone = [
        *_only_in("A", rows_a, {id(row) for row, _ in held}),
        *_only_in("B", rows_b, {id(row) for _, row in held}),
    ]
    return matches, silent, alone


def _rows(analysis: Analysis) -> list[Row]:
    """Give all that was to be measured."""
    return [*analysis.variants, *unmeasured(analysis.variants, failed_trials(analysis.trials))]


def _paired(rows_a: Sequence[Row], rows_b: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Pair all rows of A that have a partner, devices first."""
    return [
        (row, partner)
        for row in sorted(rows_a, key=lambda row: row.is_floor)
        for partner in [_partner(row, rows_a, rows_b)]
        if partner is not None
    ]


def _match(a: Row, b: Row) -> Match | None:
    """Give what can be compared; None: one of them has no latency."""
    if isinstance(a, Variant) and isinstance(b, Variant) and a.latency.n and b.latency.n:
        return Match(a, b)
    return None


def _only_in(run: str, rows: Sequence[Row], taken: Set[int]) -> Iterator[Alone]:
    return (Alone(run, row) for row in rows if id(row) not in taken)


def same_load(a: Row, b: Row) -> bool:
    """Whether two variants were offered the same: traffic, schedule, flows, frames, rate, ..."""
    x, y = a.load, b.load
    if (x.traffic, x.frame, x.both) != (y.traffic, y.frame, y.both):
        return False
    if departures_of(x) != departures_of(y):
        return False
    return _apart_pps(a, b) <= SAME_RATE * max(_rate_pps(a), _rate_pps(b))


def nearest_rate(row: Row, rows: Sequence[_Row]) -> list[_Row]:
    """Of rows of the same load give those whose rate is nearest: within the tolerance are several.

    Bounds of a search are half a percent apart.
    """
    least = min((_apart_pps(row, r) for r in rows), default=0.0)
    return [r for r in rows if _apart_pps(row, r) == least]


def _apart_pps(a: Row, b: Row) -> float:
    return abs(_rate_pps(a) - _rate_pps(b))


def _rate_pps(row: Row) -> float:
    return row.load.asked_pps or row.achieved_pps


def _of_load(row: Row, rows: Sequence[Row]) -> list[Row]:
    """Give the rows of the same load; only those that were asked for the same rate, if any was."""
    near = [r for r in rows if r.is_floor == row.is_floor and same_load(row, r)]
    asked = row.load.asked_pps
    return [r for r in near if asked and r.load.asked_pps == asked] or near


def _partner(row: Row, rows_a: Sequence[Row], rows_b: Sequence[Row]) -> Row | None:
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
    found = [r for r in found if _is_same_device(r, row)]
    if len(found) > 1 or row.is_floor:
        found = [r for r in found if _path(r) == _path(row)]
    found = nearest_rate(row, found)
    return found[0] if len(found) == 1 else None


def _is_same_device(a: Row, b: Row) -> bool:
    """Whether two devices have one name; of a guest that failed it has no claim yet."""
    if isinstance(a, Unmeasured) or isinstance(b, Unmeasured):
        return a.device.named == b.device.named
    return a.device.dut == b.device.dut


def _path(row: Row) -> tuple[object, ...]:
    return row.device.link, row.device.placement


def _crosses_paths(a: Row, b: Row) -> bool:
    """Whether the packets of one went over a network card and those of the other did not."""
    kinds = (LINKS.get(row.device.link or "") for row in (a, b))
    return len({kind.is_card for kind in kinds if kind is not None}) == 2


def _why_not(
    rows_a: Sequence[Row],
    rows_b: Sequence[Row],
    pairs: Sequence[tuple[Row, Row]],
    silent: Sequence[Silent],
) -> str:
    for name, rows in (("A", rows_a), ("B", rows_b)):
        if all(why_no_latency(row) for row in rows):
            return f"{name} has no packet with a latency; see its report"
    crossing = [pair for pair in pairs if _crosses_paths(*pair)]
    if crossing:
        of_a, of_b = crossing[0]
        links = f"A over {of_a.device.link}, B over {of_b.device.link}"
        return f"{links}; virtual ports are never set beside a card: measure both over one kind"
    if silent:
        return f"{silent[0].where}: {silent[0].why}; see its report"
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
