"""`taut search --dry-run`: what would be searched, and how long that takes, of made-up devices."""

from collections.abc import Callable, Sequence

import numpy as np
from rich.console import Console

from taut.core.units import duration_words
from taut.experiment.bisection import Counted, Measure, search
from taut.experiment.capacity import SHARES
from taut.experiment.loads import Subject, floor_goal, limits_of, to_search
from taut.experiment.model import Spec
from taut.experiment.plan import OVERHEAD_NS, make_plan
from taut.experiment.preflight import require
from taut.experiment.runner import choose_cores
from taut.host.host import Host
from taut.records.documents.search import Goal
from taut.report.paragraph import INDENT, print_paragraph
from taut.report.search import goal_words

_MADE_UP = (0.02, 0.3, 0.7)
"""Where between the limits, in equal ratios, the capacities lie by which a search is timed."""

_CHANCE_ENDS = 1.5
"""Times the load at which the first trial fails, the last one succeeds: docs/capacity.md."""

MadeUp = Callable[[float], Measure]
"""Gives a device by what it carries at least, in packets per second."""


def edge(capacity_pps: float) -> Measure:
    """Carry so much and not one packet more."""
    return _device(lambda load: max(0.0, 1 - capacity_pps / load))


def collapse(capacity_pps: float) -> Measure:
    """Carry nothing at all of what is too much, which leads a search less quickly."""
    return _device(lambda load: float(load > capacity_pps))


def chance(capacity_pps: float) -> Measure:
    """Lose a fifth in the more trials the greater the load is, as on a busy machine."""
    rng = np.random.default_rng(0)

    def lose(load: float) -> float:
        share_that_fails = (load / capacity_pps - 1) / (_CHANCE_ENDS - 1)
        return 0.2 * (rng.random() < share_that_fails)

    return _device(lose)


def expected_ns(
    spec: Spec, subject: Subject, goals: Sequence[Goal], made_up: MadeUp, settle_ns: int = 0
) -> list[int]:
    """Time searches of made-up devices of several capacities."""
    limits = limits_of(spec, subject)
    each_ns = spec.warm_up_of(subject.traffic) + OVERHEAD_NS + spec.deadline_ns + settle_ns
    in_time = {goal.within_ns for goal in goals}
    groups = [[goal for goal in goals if goal.within_ns == one] for one in in_time]
    times = []
    for at in _MADE_UP:
        measure = made_up(limits.min_pps ** (1 - at) * limits.max_pps**at)
        steps = [step for group in groups for step in search(group, limits, measure).steps]
        times.append(sum(step.duration_ns for step in steps) + each_ns * len(steps))
    return times


def print_search_plan(spec: Spec) -> None:
    """Print what would be searched, and how long that may take; nothing is started."""
    console = Console()
    loads, goals = to_search(spec)
    for goal in goals:
        print_paragraph(console, goal_words(goal), hanging=INDENT)
    cores = choose_cores(Host(), spec)
    lines = [f"Cores: {cores.why}.", *(f"warning: {note}" for note in cores.notes)]
    least_ns = most_ns = limit_ns = 0
    for load in loads:
        for subjects, asked in ((load.floors, [floor_goal(goals)]), (load.subjects, goals)):
            for subject in subjects:
                own_limit_ns = len({goal.within_ns for goal in asked}) * spec.search.limit_ns
                least = min(expected_ns(spec, subject, asked, edge))
                most = min(own_limit_ns, max(expected_ns(spec, subject, asked, chance)))
                afterwards_ns = 0 if subject.device.is_floor else _latency_ns(spec, subject)
                lines.append(
                    f"{subject.words}: {duration_words(min(least, most))} to {duration_words(most)}"
                    + (f", and {duration_words(afterwards_ns)} for latency" * bool(afterwards_ns))
                )
                least_ns += min(least, most) + afterwards_ns
                most_ns += most + afterwards_ns
                limit_ns += own_limit_ns + afterwards_ns
    lines.append(
        f"In all about {duration_words(least_ns)}, or {duration_words(most_ns)} where trials "
        f"contradict each other, as on a busy machine; at most {duration_words(limit_ns)} "
        "(search.limit)"
    )
    for line in lines:
        print_paragraph(console, line, hanging=INDENT)
    require(make_plan(spec), sends_it=False)


def _device(loss_ratio: Callable[[float], float]) -> Measure:
    def measure(duration_ns: int, load_pps: float) -> Counted:
        due = max(1, round(load_pps * duration_ns / 1e9))
        return Counted(due, due, round(due * loss_ratio(load_pps)))

    return measure


def _latency_ns(spec: Spec, subject: Subject) -> int:
    """Guess how long the trials after the search take."""
    rates = {"rates": subject.traffic.rates[:1], "frames": (subject.frame,), "devices": ("*",)}
    traffic = subject.traffic.model_copy(update=rates)
    plan = make_plan(spec.model_copy(update={"device": (subject.device,), "traffic": (traffic,)}))
    return len(SHARES) * plan.total_ns
