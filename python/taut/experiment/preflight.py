"""What this machine lacks for an experiment, found before anything is started."""

import os
from collections.abc import Iterator

from taut.binaries.describe import describe
from taut.core.binaries import find_binary_or_none, not_found
from taut.core.errors import InputError, MissingToolError
from taut.core.plugins import lack
from taut.experiment import tracing
from taut.experiment.generator import PROGRAM
from taut.experiment.plan import Plan
from taut.experiment.words import did_you_mean
from taut.records.documents.described import Described
from taut.testbed.links import LINKS

_TOOLS = (PROGRAM, "taut-clock")


def require(plan: Plan) -> None:
    """Raise for the first thing that is wrong or missing."""
    check_links(plan)
    for reason in missing(plan):
        raise MissingToolError(reason)
    check_schedules(plan, describe(PROGRAM, Described))


def missing(plan: Plan) -> Iterator[str]:
    """Say what the devices, links and taut's own programs lack."""
    for program in _TOOLS:
        if find_binary_or_none(program) is None:
            yield not_found(program)
    for kind in dict.fromkeys(trial.device.link for trial in plan.trials):
        reason = LINKS[kind].missing()
        if reason is not None:
            yield reason
    for device in {trial.device.name: trial.device for trial in plan.trials}.values():
        reason = lack(device.dut.missing, device.driver_options)
        if reason is not None:
            yield f"device {device.name}: {reason}"
    for neighbour in plan.spec.neighbour:
        reason = neighbour.does.missing()
        if reason is not None:
            yield f"neighbour {neighbour.name}: {reason}"
    for place in {trial.place.name: trial.place for trial in plan.trials}.values():
        reason = lack(place.placement.missing, place.kind_options)
        if reason is not None:
            yield f"placement {place.name}: {reason}"
    if plan.spec.changes_host and os.geteuid() != 0:
        yield "[[host]]: changing the host needs root; run as root, or measure the host as found"
    # With "auto" the run itself warns that it measures without a trace.
    if plan.spec.trace != "auto" and tracing.is_wanted(plan):
        reason = tracing.why_not()
        if reason is not None:
            yield f"trace = {plan.spec.trace}: {reason}; or measure without: --no-trace"


def check_links(plan: Plan) -> None:
    """Refuse options that a link cannot be made of, as a card that is not there."""
    used = dict.fromkeys((trial.device.link, trial.device.dut.n_links) for trial in plan.trials)
    for kind, n in used:
        LINKS[kind].check(n, plan.spec.links.get(kind, {}))


def check_schedules(plan: Plan, description: Described) -> None:
    """Refuse a schedule, or an option of one, that the generator does not have."""
    known = {schedule.name: schedule for schedule in description.schedules}
    for traffic in plan.spec.traffic:
        schedule = known.get(traffic.schedule)
        where = f"traffic {traffic.name}"
        if schedule is None:
            hint = did_you_mean(traffic.schedule, known)
            raise InputError(f"{where}: unknown schedule {traffic.schedule!r}{hint}")
        options = schedule.option_names
        for key in traffic.options:
            if key not in options:
                hint = did_you_mean(key, options) if options else "; it has none"
                raise InputError(
                    f"{where}: schedule {traffic.schedule}: unknown option {key!r}{hint}"
                )
