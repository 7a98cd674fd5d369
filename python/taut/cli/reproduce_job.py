"""What `taut reproduce` does with a published experiment, after its options are read."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from taut.cli.run_job import Publish
from taut.core.errors import InputError
from taut.core.files import write_json
from taut.core.plugins import lack
from taut.core.units import parse_duration_ns
from taut.core.words import did_you_mean
from taut.dut.drivers import DRIVERS
from taut.experiment.plan import Plan, make_plan
from taut.experiment.preflight import refused_cores
from taut.experiment.spec import parse_spec
from taut.host.audit import find_situation
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.host.state import HostState, why_nothing
from taut.records.documents.json_form import plain
from taut.records.documents.published import PUBLISHED_FILE
from taut.records.documents.results import Analysis
from taut.records.rundir import RunDirectory
from taut.report.paragraph import print_note
from taut.reproduce import EXPERIMENTS
from taut.reproduce.experiment import PublishedExperiment
from taut.testbed.placements import PLACEMENTS


def find_experiment(name: str) -> PublishedExperiment:
    """Give the experiment of this name; InputError: there is none."""
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}{did_you_mean(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]


def publishing(experiment: PublishedExperiment) -> Publish:
    """Make what adds the published figures to a run, before its report is written."""

    def publish(run: RunDirectory, analysis: Analysis) -> None:
        sections = experiment.compare(analysis.variants)
        write_json(run.path / PUBLISHED_FILE, plain([of.document() for of in sections]))

    return publish


def plan_here(
    experiment: PublishedExperiment,
    overrides: Sequence[str],
    *,
    quick: bool,
    soak_ns: int | None = None,
) -> tuple[str, Plan]:
    """Give its text and plan, without what this machine cannot do: that is said.

    `soak_ns`: its soak of this length instead. InputError: none was published.
    """

    def planned() -> tuple[str, Plan]:
        if soak_ns is None:
            text: str | None = experiment.spec_text(quick=quick, without=list(missing))
        else:
            text = experiment.soak_text(soak_ns, without=list(missing))
        if text is None:
            raise InputError(f"--soak: {experiment.name} has published none; leave it out")
        return text, make_plan(parse_spec(text, overrides, source=experiment.name))

    host = Host()
    missing = left_out(experiment, host)
    text, plan = planned()
    refused = refused_cores(plan, host)
    if here := {name: refused[name] for name in experiment.optional_devices() if name in refused}:
        missing |= here
        text, plan = planned()
    notes = Console(stderr=True)
    for name, reason in missing.items():
        print_note(notes, f"without {name}: {reason}")
    return text, plan


def match_captures(experiment: PublishedExperiment, folder: Path, out: Path) -> RunDirectory:
    """Match every pair of a folder; give the run they become."""
    if experiment.skip_of_captures is None:
        raise InputError(f"--captures: {experiment.name} has published none; leave it out")
    # Here, not above: a live run needs neither.
    from taut.capture.native import MatchOptions
    from taut.capture.pair_run import analyse_pairs
    from taut.reproduce.capture_pairs import find_pairs

    options = MatchOptions(skip_ns=parse_duration_ns(experiment.skip_of_captures))
    say = partial(print_note, Console(stderr=True))
    return analyse_pairs(find_pairs(folder), out, options, say, command_line=sys.argv)


def left_out(experiment: PublishedExperiment, host: Host) -> dict[str, str]:
    """Say which optional devices, places and states this machine cannot have, and why."""
    found = {}
    for device, driver in experiment.optional_devices().items():
        reason = lack(DRIVERS[driver].missing, DRIVERS[driver].options_type())
        if reason is not None:
            found[device] = reason
    for place, kind in experiment.optional_places().items():
        reason = lack(PLACEMENTS[kind].missing, PLACEMENTS[kind].options_type())
        if reason is not None:
            found[place] = reason
    if os.geteuid() != 0:
        return found | dict.fromkeys(experiment.states, "changing the host needs root; run as root")
    for state, remedy in experiment.depths.items():
        # Which cores a run takes is not known yet: any but one, which does everything else.
        situation = find_situation(host, waiting=frozenset(Waiting))
        situation = replace(situation, cores=situation.online[1:])
        reason = why_nothing(host, situation, HostState(state, only=(remedy,)))
        if reason is not None:
            found[state] = reason
    return found
