"""`taut rfc --dry-run`: the recipe, and how long it takes, of devices that are made up."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console

from taut.cli.search_plan import collapse, expected_ns
from taut.core.units import duration_words
from taut.experiment.capacity import Subject, loads_of
from taut.experiment.model import Spec
from taut.experiment.plan import MAX_RECORDED_PPS, OVERHEAD_NS, make_plan
from taut.experiment.preflight import require
from taut.experiment.recipes import shortened
from taut.experiment.rfc import START_NS, floor_goal_of, goal_of
from taut.experiment.runner import choose_cores
from taut.host.host import Host
from taut.records.documents.rfc import BURSTS, LATENCY, LOSS, RECOVERY, RESET, Recipe, Test
from taut.records.documents.search import Goal
from taut.report.paragraph import INDENT, print_paragraph
from taut.report.search import goal_words

_BYTES = 12
"""Of a packet's record on the disk (experiment/room.py)."""

_TRIALS_OF_A_BURST = 20
"""About: of doubling and halving between 16 frames and millions."""


@dataclass(frozen=True)
class _Trials:
    """How many trials a test takes of one device and frame size, and how long each of them is."""

    n: int
    length_ns: int
    is_recorded: bool = False
    warms_up: bool = True


def print_rfc_plan(spec: Spec, recipe: Recipe) -> None:
    """Print what would be done, and how long that takes; nothing is started."""
    console = Console()
    for line in _lines(spec, recipe):
        print_paragraph(console, line, hanging=INDENT)
    require(make_plan(spec))


def _lines(spec: Spec, recipe: Recipe) -> Iterator[str]:
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
    least_ns = limit_ns = n_bytes = 0
    pause_ns = OVERHEAD_NS + recipe.residue_ns + recipe.settle_ns
    for load in loads:
        for subject in load.floors:
            floor_ns = _search_ns(spec, subject, floor_goal_of(recipe), recipe)
            least_ns, limit_ns = least_ns + floor_ns, limit_ns + spec.search.limit_ns
        for subject in load.subjects:
            search_ns = _search_ns(spec, subject, goal_of(recipe), recipe)
            tests_ns = 0
            for test in recipe.tests:
                trials = _trials_of(test, recipe, subject)
                tests_ns += trials.n * (
                    trials.length_ns + pause_ns + recipe.warm_up_ns * trials.warms_up
                )
                n_bytes += trials.n * trials.length_ns * trials.is_recorded
            yield (
                f"{subject.words}: about {duration_words(search_ns)} for throughput, "
                f"{duration_words(tests_ns)} for the rest"
            )
            least_ns += search_ns + tests_ns
            limit_ns += spec.search.limit_ns + (1 + recipe.repeats) * tests_ns
    recorded = n_bytes / 1e9 * MAX_RECORDED_PPS * _BYTES
    yield (
        f"Disk: at most {recorded / 1e9:,.1f} GB, of packets at 1 Mpkt/s (more are not recorded); "
        "without tags and their packets: --set record=none"
    )
    yield (
        f"In all about {duration_words(least_ns)}; a device whose trials contradict each other, or "
        f"a busy machine, takes longer, at most {duration_words(limit_ns)} (search.limit)"
        + ("" if spec.rfc.quick else "; minutes instead: --quick")
    )


def _search_ns(spec: Spec, subject: Subject, goal: Goal, recipe: Recipe) -> int:
    """Time the search of a device that tells little of where its limit is."""
    return max(expected_ns(spec, subject, [goal], collapse, recipe.settle_ns))


def _trials_of(test: Test, recipe: Recipe, subject: Subject) -> _Trials:
    if test == LATENCY:
        return _Trials(recipe.repetitions, recipe.latency_ns, is_recorded=True)
    if test == LOSS:
        return _Trials(round(1 / recipe.loss_step), recipe.trial_ns)
    if test == RECOVERY:
        length_ns = recipe.overload_ns + recipe.recovery_ns
        return _Trials(recipe.recoveries, length_ns, is_recorded=True)
    if test == RESET and str(subject.frame) == min(recipe.frames, key=len):
        length_ns = START_NS + recipe.before_reset_ns + recipe.after_reset_ns
        return _Trials(recipe.resets, length_ns, is_recorded=True)
    if test == BURSTS:
        n = recipe.bursts * _TRIALS_OF_A_BURST
        return _Trials(n, recipe.burst_most_ns // 4, warms_up=False)
    return _Trials(0, 0)
