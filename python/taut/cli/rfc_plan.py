"""`taut rfc --dry-run`: the recipe, and how long it takes, of devices that are made up."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from taut.analysis.load import rate_words
from taut.cli.search_plan import collapse, expected_ns
from taut.cli.unread import tell
from taut.core.units import bytes_words, duration_words
from taut.experiment import restart
from taut.experiment.disk import free_at
from taut.experiment.loads import Subject, limits_of, loads_of
from taut.experiment.model import Spec
from taut.experiment.plan import MAX_RECORDED_PPS, OVERHEAD_NS, make_plan
from taut.experiment.preflight import require
from taut.experiment.recipes import shortened
from taut.experiment.rfc import floor_goal_of, goal_of, smallest_of
from taut.experiment.room import recorded_share
from taut.experiment.runner import choose_cores
from taut.host.host import Host
from taut.records.documents.rfc import BURSTS, LATENCY, LOSS, RECOVERY, RESET, Recipe, Test
from taut.records.documents.search import Goal
from taut.report.paragraph import INDENT, print_paragraph
from taut.report.search import goal_words

_BYTES = 12
"""Of a packet's record on the disk (experiment/room.py)."""

_RECORD_LESS = "make room, give another --out, or record nothing: --set record=none"

_TRIALS_OF_A_BURST = 20
"""About: of doubling and halving between 16 frames and millions."""


@dataclass(frozen=True)
class _Trials:
    """How many trials a test takes of one device and frame size, and how long each of them is."""

    n: int
    length_ns: int
    is_recorded: bool = False
    warms_up: bool = True


@dataclass(frozen=True)
class Recorded:
    """What a recipe leaves on the disk where no trial is repeated, at most."""

    record: str
    most_pps: float
    """At which packets are recorded, of both directions."""
    is_capped: bool
    """Whether trials at higher rates are not recorded, whatever the highest is."""
    n_bytes: float


def recorded_of(spec: Spec, recipe: Recipe) -> Recorded:
    """Give what the records of a recipe take."""
    subjects = [one for load in loads_of(spec) for one in load.subjects]
    traffic = subjects[0].traffic
    record = traffic.record or spec.record
    most_pps = traffic.n_ways * max(limits_of(spec, subject).max_pps for subject in subjects)
    is_capped = record == "auto" and most_pps > MAX_RECORDED_PPS
    most_pps = MAX_RECORDED_PPS if is_capped else most_pps
    recorded_ns = sum(
        trials.n * (trials.length_ns + recipe.warm_up_ns)
        for subject in subjects
        for trials in (_trials_of(test, recipe, subject, spec) for test in recipe.tests)
        if trials.is_recorded
    )
    n_bytes = recorded_ns / 1e9 * most_pps * _BYTES * recorded_share(record)
    return Recorded(record, most_pps, is_capped, n_bytes)


def warn_of_no_room(spec: Spec, recipe: Recipe, out: Path) -> None:
    """Say where records may take more than is free: of a slow device they take far less."""
    most = recorded_of(spec, recipe).n_bytes
    folder, free = free_at(out)
    if most > free:
        sizes = f"up to {bytes_words(most)}, and {bytes_words(free)} are free"
        tell(f"warning: {folder}: records may take {sizes}; {_RECORD_LESS}")


def print_rfc_plan(spec: Spec, recipe: Recipe, out: Path) -> None:
    """Print what would be done, and how long that takes; nothing is started."""
    console = Console()
    for line in _lines(spec, recipe, out):
        print_paragraph(console, line, hanging=INDENT)
    require(make_plan(spec), sends_it=False)


def _lines(spec: Spec, recipe: Recipe, out: Path) -> Iterator[str]:
    yield f"RFC {recipe.rfc}: {', '.join(recipe.tests)}"
    ways = "both directions" if recipe.both else "one direction"
    yield f"Frames of {', '.join(recipe.frames)} B, {ways}"
    yield goal_words(goal_of(recipe))
    changed = shortened(recipe)
    if changed:
        yield f"Not as RFC {recipe.rfc} has it: {'; '.join(changed)}"
    cores = choose_cores(Host(), spec)
    yield f"Cores: {cores.why}."
    yield from (f"warning: {note}" for note in cores.notes)
    loads = loads_of(spec)
    least_ns = limit_ns = 0
    pause_ns = OVERHEAD_NS + recipe.residue_ns + recipe.settle_ns
    for load in loads:
        for subject in load.floors:
            floor_ns = _search_ns(spec, subject, floor_goal_of(recipe), recipe)
            least_ns, limit_ns = least_ns + floor_ns, limit_ns + spec.search.limit_ns
        for subject in load.subjects:
            search_ns = _search_ns(spec, subject, goal_of(recipe), recipe)
            tests_ns = 0
            for test in recipe.tests:
                trials = _trials_of(test, recipe, subject, spec)
                sent_ns = trials.n * (trials.length_ns + recipe.warm_up_ns * trials.warms_up)
                tests_ns += sent_ns + trials.n * pause_ns
            yield (
                f"{subject.words}: about {duration_words(search_ns)} for throughput, "
                f"{duration_words(tests_ns)} for the rest"
            )
            least_ns += search_ns + tests_ns
            limit_ns += spec.search.limit_ns + (1 + recipe.repeats) * tests_ns
    yield f"Disk: {_disk_words(recorded_of(spec, recipe), recipe)}; {_free_words(out)}"
    yield (
        f"In all about {duration_words(least_ns)}; a device whose trials contradict each other, or "
        f"a busy machine, takes longer, at most {duration_words(limit_ns)} (search.limit)"
        + ("" if spec.rfc.quick else "; minutes instead: --quick")
    )


def _disk_words(recorded: Recorded, recipe: Recipe) -> str:
    if recorded.record == "none":
        return (
            "little, for no packets are recorded: latency has no tags, recoveries and resets "
            "have no times"
        )
    unrecorded = " (more are not recorded)" if recorded.is_capped else ""
    most = (1 + recipe.repeats) * recorded.n_bytes / 1e9
    return (
        f"at most {most:,.1f} GB, of packets at {rate_words(recorded.most_pps)}{unrecorded} if "
        f"each trial is repeated, {recorded.n_bytes / 1e9:,.1f} GB if none is; without tags and "
        "their packets: --set record=none"
    )


def _free_words(out: Path) -> str:
    folder, free = free_at(out)
    return f"{bytes_words(free)} are free in {folder}"


def _search_ns(spec: Spec, subject: Subject, goal: Goal, recipe: Recipe) -> int:
    """Time the search of a device that tells little of where its limit is."""
    return max(expected_ns(spec, subject, [goal], collapse, recipe.settle_ns))


def _trials_of(test: Test, recipe: Recipe, subject: Subject, spec: Spec) -> _Trials:
    if test == LATENCY:
        return _Trials(recipe.repetitions, recipe.latency_ns, is_recorded=True)
    if test == LOSS:
        return _Trials(round(1 / recipe.loss_step), recipe.trial_ns)
    if test == RECOVERY:
        length_ns = recipe.overload_ns + recipe.recovery_ns
        return _Trials(recipe.recoveries, length_ns, is_recorded=True)
    is_reset = (
        str(subject.frame) == smallest_of(recipe.frames)
        and restart.why_not(subject.device, spec.placement) is None
    )
    if test == RESET and is_reset:
        length_ns = restart.START_NS + recipe.before_reset_ns + recipe.after_reset_ns
        return _Trials(recipe.resets, length_ns, is_recorded=True)
    if test == BURSTS:
        n = recipe.bursts * _TRIALS_OF_A_BURST
        return _Trials(n, recipe.burst_most_ns // 4, warms_up=False)
    return _Trials(0, 0)
