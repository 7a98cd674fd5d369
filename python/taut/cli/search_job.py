"""`taut search`, the work: what it may take, the search, its report."""

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from taut.cli.progress import TerminalProgress
from taut.cli.run_job import finish
from taut.cli.search_words import print_search
from taut.core.errors import InterruptedRun, TautError
from taut.core.files import write_json
from taut.core.units import duration_words
from taut.experiment.bisection import Counted, search
from taut.experiment.capacity import (
    SHARES,
    Subject,
    floor_goal,
    goals_of,
    limits_of,
    loads_of,
    search_capacity,
)
from taut.experiment.interrupt import interruptible
from taut.experiment.model import Spec
from taut.experiment.plan import OVERHEAD_NS, make_plan
from taut.experiment.preflight import require
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import choose_cores, measuring
from taut.host.host import Host
from taut.records.documents.json_form import plain_object
from taut.records.documents.results import Analysis
from taut.records.documents.search import LOWEST_FAILS, SEARCH_FILE, Goal, SearchDocument
from taut.records.rundir import RunDirectory
from taut.report.paragraph import INDENT, print_paragraph
from taut.report.search import goal_words

_GO_ON = "go on with --out and --resume, or change search.limit or --min"

_MADE_UP = (0.02, 0.3, 0.7)
"""Where between the limits, in equal ratios, the capacities lie by which a search is timed."""


def print_search_plan(spec: Spec) -> None:
    """Print what would be searched, and how long that may take; nothing is started."""
    console = Console()
    loads, goals = loads_of(spec), goals_of(spec)
    for goal in goals:
        print_paragraph(console, goal_words(goal), hanging=INDENT)
    cores = choose_cores(Host(), spec)
    lines = [f"Cores: {cores.why}.", *(f"warning: {note}" for note in cores.notes)]
    least_ns = most_ns = limit_ns = 0
    for load in loads:
        for subjects, asked in ((load.floors, [floor_goal(goals)]), (load.subjects, goals)):
            for subject in subjects:
                times = expected_ns(spec, subject, asked)
                afterwards_ns = 0 if subject.device.is_floor else _latency_ns(spec, subject)
                lines.append(
                    f"{subject.words}: {duration_words(min(times))} to "
                    f"{duration_words(max(times))}"
                    + (f", and {duration_words(afterwards_ns)} for latency" * bool(afterwards_ns))
                )
                least_ns += min(times) + afterwards_ns
                most_ns += max(times) + afterwards_ns
                n_searches = len({goal.within_ns for goal in asked})
                limit_ns += n_searches * spec.search.limit_ns + afterwards_ns
    lines.append(
        f"In all about {duration_words(least_ns)} to {duration_words(most_ns)}; a device whose "
        f"trials contradict each other, or a busy machine, takes longer, at most "
        f"{duration_words(limit_ns)} (search.limit)"
    )
    for line in lines:
        print_paragraph(console, line, hanging=INDENT)
    require(make_plan(spec))


def expected_ns(
    spec: Spec,
    subject: Subject,
    goals: Sequence[Goal],
    settle_ns: int = 0,
    *,
    collapses: bool = False,
) -> list[int]:
    """Time searches of made-up devices that carry so much and not one packet more.

    Those that `collapses` carry nothing at all above it, which leads a search less quickly.
    """
    limits = limits_of(spec, subject)
    times = []
    for at in _MADE_UP:
        capacity = limits.min_pps ** (1 - at) * limits.max_pps**at

        def measure(duration_ns: int, load_pps: float, capacity: float = capacity) -> Counted:
            due = max(1, round(load_pps * duration_ns / 1e9))
            share = max(0.0, 1 - capacity / load_pps)
            return Counted(due, due, round(due * (share > 0 if collapses else share)))

        in_time = {goal.within_ns for goal in goals}
        groups = [[goal for goal in goals if goal.within_ns == one] for one in in_time]
        steps = [step for group in groups for step in search(group, limits, measure).steps]
        each_ns = _warm_up_ns(spec, subject) + OVERHEAD_NS + spec.deadline_ns + settle_ns
        times.append(sum(step.duration_ns for step in steps) + each_ns * len(steps))
    return times


def _warm_up_ns(spec: Spec, subject: Subject) -> int:
    """Give the warm-up of a load: its own, else the experiment's."""
    own = subject.traffic.warm_up_ns
    return spec.warm_up_ns if own is None else own


def _latency_ns(spec: Spec, subject: Subject) -> int:
    """Guess how long the trials after the search take."""
    rates = {"rates": subject.traffic.rates[:1], "frames": (subject.frame,), "devices": ("*",)}
    traffic = subject.traffic.model_copy(update=rates)
    plan = make_plan(spec.model_copy(update={"device": (subject.device,), "traffic": (traffic,)}))
    return len(SHARES) * plan.total_ns


def search_and_report(
    spec: Spec,
    out: Path,
    origin: Origin,
    *,
    resume: bool,
    wait: bool,
    images: bool,
    as_json: bool,
) -> None:
    """Search, write search.json, analyse and draw; TautError where a device met no goal at all."""
    loads_of(spec)
    plan = make_plan(spec)
    require(plan)
    with interruptible():
        try:
            with (
                closing(TerminalProgress(is_part=True)) as progress,
                measuring(plan, out, resume, progress, origin, wait=wait, in_parts=True) as session,
            ):
                document = search_capacity(session, spec)
        except KeyboardInterrupt:
            raise InterruptedRun(
                f"interrupted; whole trials are kept, go on: --out {out} --resume"
            ) from None
        write_json(out / SEARCH_FILE, plain_object(document))
        _report(RunDirectory(out), document, images=images, as_json=as_json)
    problems = list(_problems(document))
    if problems:
        raise TautError("; ".join(problems))


def _report(run: RunDirectory, document: SearchDocument, *, images: bool, as_json: bool) -> None:
    found = [document]

    def publish(run: RunDirectory, analysis: Analysis) -> None:
        found[0] = with_latency(document, analysis)
        write_json(run.path / SEARCH_FILE, plain_object(found[0]))

    def show(report: Path) -> None:
        if as_json:
            json.dump(plain_object(found[0]), sys.stdout)
            print()
        else:
            print_search(found[0], Console(), report)

    finish(run, as_json=as_json, publish=publish, show=show, images=images)


def with_latency(document: SearchDocument, analysis: Analysis) -> SearchDocument:
    """Add percentiles at shares of the bound, of the repetitions pooled."""
    variants = {name: variant for variant in analysis.variants for name in variant.trials}
    searches = []
    for one in document.searches:
        latency = []
        for at in one.latency:
            variant = next((variants[name] for name in at.trials if name in variants), None)
            if variant is not None:
                of = variant.latency
                at = replace(
                    at,
                    p50_ns=of.p50_ns,
                    p99_ns=of.percentiles_ns["p99"],
                    p99_9_ns=of.percentiles_ns["p99.9"],
                    max_ns=of.max_ns,
                )
            latency.append(at)
        searches.append(replace(one, latency=tuple(latency)))
    return replace(document, searches=tuple(searches))


def _problems(document: SearchDocument) -> list[str]:
    """Say of each device why it has no answer; what was measured stays all the same."""
    found = []
    for one in document.searches:
        failed = [of.goal for of in one.found if of.irregular == LOWEST_FAILS]
        if one.is_instrument:
            continue  # A device that could not be searched for it says so.
        if one.stopped is not None:
            found.append(f"{one.device}: {one.stopped}; {_GO_ON}")
        elif failed:
            found.append(
                f"{one.device}: {', '.join(failed)}: fails at {one.min_pps:,.0f} pkt/s already, "
                "the lowest load; lower it: --min"
            )
    return found
