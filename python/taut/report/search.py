"""A search in the report: RUN/search.json, read, and in the words of the page and the terminal.

The file is the interface: the report knows nothing else of the search that wrote it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from taut.analysis.load import bounds_words, frame_words, load_of, rate_words, share_words
from taut.core.units import format_ns
from taut.records.documents.results import Variant
from taut.records.documents.search import (
    FLOOR_UNBOUND,
    HIGHEST_PASSES,
    LIMITED,
    LOWER_LIMITED,
    LOWEST_FAILS,
    PATH,
    SEARCH_FILE,
    STOPPED,
    Goal,
    GoalFound,
    LatencyAt,
    SearchDocument,
    SearchOfDevice,
)
from taut.report import cells
from taut.report.cells import Cell
from taut.report.written import read_written

TITLE = "How much it carries"
FIGURE = "bounds"
"""Id of the figure in the search's section."""

COLUMNS = ("goal", "at least", "below", "forwarded", "")
LATENCY_COLUMNS = ("load", "rate", "generator late", "p50", "p99", "p99.9", "max")

LEGEND = (
    "At least: the relevant lower bound, the highest load at which the goal was kept and below "
    "which it was not broken. Below: the relevant upper bound, the lowest load at which it was "
    "broken. Forwarded: the conditional throughput, what came through at the lower bound. Loads "
    "are packets a second of each direction."
)
CAUTION = (
    "A search is a handful of short trials at each load: another one may end a few widths away, "
    "and on a busy machine further. Where trials contradict each other, longer ones (trial=) tell "
    "more than more of them. Devices of one load took turns, a trial each. Claim a difference "
    "between them from several searches."
)
GO_ON = "go on with --out and --resume; search.limit says for how long each time"

NO_RFC = "a late packet counts as lost, which is no measure of any RFC"

IRREGULAR: Mapping[str, str] = {
    LOWEST_FAILS: "irregular: broken at the lowest load already; lower --min",
    HIGHEST_PASSES: "irregular: kept at the highest load",
    LIMITED: "irregular: above, the generator was held up",
    LOWER_LIMITED: "irregular: where it was kept, the generator was held up",
    PATH: "of the path: below, the generator sends too slowly into the device, not without one",
    FLOOR_UNBOUND: "irregular: no upper bound, for the loopback has none",
    STOPPED: "irregular: the search ended before the bounds met",
}


def read_search(run: Path) -> SearchDocument | None:
    """Read the search of a run; None: it is none's. InputError: one of a taut unlike this one."""
    return read_written(SearchDocument, run / SEARCH_FILE, "search")


def devices_of(document: SearchDocument) -> list[SearchOfDevice]:
    """Give the searches of devices, without those of the instrument."""
    return [one for one in document.searches if not one.is_instrument]


def headline(document: SearchDocument) -> str:
    """Say in one sentence what every device carries."""
    parts = [
        f"{subject_words(one)}: "
        + ", ".join(f"{found.goal} {found_words(found)}" for found in one.found)
        for one in devices_of(document)
    ]
    return f"{'; '.join(parts)}."


def found_words(found: GoalFound) -> str:
    """Say what was found for a goal; a lower bound alone is "at least", one in doubt "perhaps"."""
    if found.lower is None:
        return "not found"
    how = {None: "", LOWER_LIMITED: "perhaps "}.get(found.irregular, "at least ")
    return f"{how}{_bounds(found)[0]}"


def _bounds(found: GoalFound) -> tuple[str, str]:
    lower, upper = (None if of is None else of.load_pps for of in (found.lower, found.upper))
    return bounds_words(lower, upper)


def irregular_words(found: GoalFound) -> str:
    """Say why a goal has not both bounds of the device alone; empty: it has."""
    if found.irregular == LIMITED and found.lower is None:
        return "irregular: at the lowest load already the generator was held up"
    if found.irregular == FLOOR_UNBOUND and found.lower is None:
        return "irregular: broken at the lowest load already, and the loopback has no bound either"
    return "" if found.irregular is None else IRREGULAR[found.irregular]


def unmet_words(found: GoalFound, min_pps: float) -> str | None:
    """Say why a goal has no bound at all, and the remedy; None: it has one."""
    if found.irregular == LOWEST_FAILS:
        return f"fails at {min_pps:,.0f} pkt/s already, the lowest load; lower it: --min"
    if found.irregular == LIMITED and found.lower is None:
        return (
            f"at {min_pps:,.0f} pkt/s already, the lowest load, the generator itself was held up; "
            "quieten the machine, or lower it: --min"
        )
    if found.irregular == FLOOR_UNBOUND and found.lower is None:
        return (
            f"fails at {min_pps:,.0f} pkt/s already, the lowest load, and the loopback has no "
            "bound either; quieten the machine, or lower it: --min"
        )
    return None


def stopped_floors(searches: Sequence[SearchOfDevice]) -> list[str]:
    """Say why the search of a loopback ended early: it may carry more than its devices were sent.

    Without a bound of it they have no upper one.
    """
    floors = [one for one in searches if one.is_instrument]
    return [
        f"{name}: {one.stopped}; {GO_ON}; if its bound moves then, devices are searched anew"
        for name, one in zip(names_of(floors), floors, strict=True)
        if one.stopped is not None
    ]


def subject_words(one: SearchOfDevice) -> str:
    """Name a device and its load."""
    ways = ", both directions" if one.both else ""
    return f"{one.device} over {one.link}, {one.traffic} {frame_words(one.frame)}{ways}"


def names_of(searches: Sequence[SearchOfDevice]) -> list[str]:
    """Name searches side by side: a device that was searched under several loads with its load."""
    n_of = Counter(one.device for one in searches)
    return [one.device if n_of[one.device] == 1 else subject_words(one) for one in searches]


def limit_words(one: SearchOfDevice) -> str:
    """Say between which loads it was searched, and why no higher."""
    carries = "carries"
    if one.is_floor_stopped:
        carries = "was seen to carry before its search ended early"
    why = f", all that the loopback {carries}" if one.is_max_the_instruments else ""
    stopped = f"; ended early: {one.stopped}" if one.stopped is not None else ""
    n = len({name for step in one.steps for name in step.trials})
    most = bounds_words(one.max_pps, None)[0]
    return f"{n} trials from {rate_words(one.min_pps)} to {most}{why}{stopped}."


def inversion_words(one: SearchOfDevice, goals: Sequence[Goal]) -> list[str]:
    """Say for each goal between which loads its trials contradict each other, if they do.

    RFC 9971 calls it loss inversion: a trial loses more than another one at a higher load.
    """
    return [words for goal in goals if (words := _inversion(one, goal)) is not None]


def _inversion(one: SearchOfDevice, goal: Goal) -> str | None:
    """None: the highest load kept is at most the goal's width above the lowest one broken.

    Trials of the final length count, but for those in which the generator was held up.
    """
    steps = [
        step
        for step in one.steps
        if step.duration_ns == goal.final_trial_duration_ns
        and not step.is_limited_at(goal.loss_ratio)
        and any(closing.goal == goal.name for closing in step.bounds)
    ]
    kept = [step.load_pps for step in steps if step.loss_ratio <= goal.loss_ratio]
    broken = [step.load_pps for step in steps if step.loss_ratio > goal.loss_ratio]
    if not broken or not kept or 1 - min(broken) / max(kept) <= goal.relative_width:
        return None
    lowest, highest = bounds_words(min(broken), max(kept))
    n_kept = sum(min(broken) <= load for load in kept)
    n_broken = sum(load <= max(kept) for load in broken)
    return (
        f"{goal.name}: from {lowest} to {highest} trials "
        f"contradict each other, {n_kept} kept it and {n_broken} broke it; another search may end "
        "elsewhere between these."
    )


def rows(one: SearchOfDevice) -> list[tuple[str, ...]]:
    """Give a row a goal, as COLUMNS has it."""
    return [
        (
            found.goal,
            *(words or cells.NOTHING for words in _bounds(found)),
            bounds_words(found.conditional_throughput_pps, None)[0] or cells.NOTHING,
            irregular_words(found),
        )
        for found in one.found
    ]


def latency_rows(one: SearchOfDevice) -> list[tuple[Cell, ...]]:
    """Give a row a share of the bound, as LATENCY_COLUMNS has it, marked as the results are."""
    return [
        (
            Cell(f"{share_words(at.share)} of {at.goal}"),
            Cell(cells.rate(at.load_pps)),
            _late(at),
            _percentile(at, "p50", at.p50_ns),
            _percentile(at, "p99", at.p99_ns),
            _percentile(at, "p99.9", at.p99_9_ns),
            Cell(cells.time(at.max_ns)),
        )
        for at in one.latency
    ]


def latency_legend(one: SearchOfDevice) -> list[str]:
    """Say what the marks of these rows mean, where there are any."""
    rows = latency_rows(one)
    lines = []
    if any(cell.dim for row in rows for cell in row):
        lines.append(f"{cells.UNSUPPORTED_MARK} {cells.UNSUPPORTED}.")
    if any(cell.alert for row in rows for cell in row):
        lines.append(f"Generator late {cells.LIMITED}.")
    return lines


def _percentile(at: LatencyAt, name: str, ns: int | None) -> Cell:
    if ns is None or name not in at.unsupported_percentiles:
        return Cell(cells.time(ns))
    return Cell(cells.time(ns) + cells.UNSUPPORTED_MARK, dim=True)


def _late(at: LatencyAt) -> Cell:
    if at.void_share is None:
        return Cell(cells.NOTHING)
    note = cells.LIMITED if at.instrument_limited else ""
    return Cell(share_words(at.void_share), alert=at.instrument_limited, note=note)


def goal_words(goal: Goal) -> str:
    """Say all attributes of a goal."""
    lost = share_words(goal.loss_ratio) if goal.loss_ratio else "none"
    allowed = f"lost: {lost} of the packets"
    if goal.within_ns is not None:
        in_time = format_ns(goal.within_ns)
        allowed = f"lost or later than {in_time}: {lost} of the packets ({NO_RFC})"
    trial = format_ns(goal.final_trial_duration_ns)
    if goal.initial_trial_duration_ns != goal.final_trial_duration_ns:
        trial = f"{format_ns(goal.initial_trial_duration_ns)} to {trial}"
    return (
        f"{goal.name}: {allowed}; trials of {trial}, {format_ns(goal.duration_sum_ns)} of them at "
        f"a load, of which {share_words(goal.exceed_ratio)} may lose more; bounds within "
        f"{share_words(goal.relative_width)}"
    )


def shown_trials(document: SearchDocument | None) -> set[str]:
    """Name the trials whose loads the report shows by themselves: those of latency."""
    searches = () if document is None else document.searches
    return {name for one in searches for at in one.latency for name in at.trials}


def shown_variants(variants: Sequence[Variant], trials: Set[str]) -> Sequence[Variant]:
    """Leave out loads that a search only passed through: those of none of `trials`.

    All are shown where there are no such trials.
    """
    loads = {load_of(row) for row in variants if trials & set(row.trials)}
    return [row for row in variants if load_of(row) in loads] if loads else variants
