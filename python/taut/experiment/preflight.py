"""What this machine lacks for an experiment, found before anything is started."""

import os
import re
from collections.abc import Callable, Iterator

from taut.binaries.describe import describe
from taut.core.binaries import find_binary_or_none, not_found
from taut.core.errors import InputError, MissingToolError
from taut.core.plugins import lack
from taut.core.units import format_ns, parse_duration_ns
from taut.core.words import did_you_mean
from taut.experiment import restart, tracing
from taut.experiment.generator import PROGRAM, load_of, refusal
from taut.experiment.plan import Plan, on_hosts_programs
from taut.experiment.room import free_bytes
from taut.experiment.runner import choose_cores
from taut.host.host import Host
from taut.records.documents.described import Described, OptionDescribed
from taut.testbed import hugepages
from taut.testbed.links import LINKS

_TOOLS = (PROGRAM, "taut-clock")


def require(plan: Plan, *, sends_it: bool = True) -> None:
    """Raise for the first thing that is wrong or missing.

    `sends_it`: False of a search and a recipe, whose trials have other rates and lengths.
    """
    restart.refuse_late(plan.trials)
    check_links(plan)
    for reason in missing(plan):
        raise MissingToolError(reason)
    check_schedules(plan, describe(PROGRAM, Described))
    if sends_it:
        check_loads(plan)
    for name, why in (refused_cores(plan, Host()) | refused_memory(plan, Host())).items():
        raise InputError(f"device {name}: {why}")


def missing(plan: Plan) -> Iterator[str]:
    """Say what the devices, links and taut's own programs lack."""
    for program in _TOOLS:
        if find_binary_or_none(program) is None:
            yield not_found(program)
    for kind in dict.fromkeys(trial.device.link for trial in plan.trials):
        reason = LINKS[kind].missing()
        if reason is not None:
            yield reason
    for device in on_hosts_programs(plan):
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


def refused_cores(plan: Plan, host: Host) -> dict[str, str]:
    """Say which devices cannot work on the cores that they would get now, and why."""
    cores = choose_cores(host, plan.spec)
    devices = {trial.device.name: trial.device.driver_options for trial in plan.trials}
    asked = {
        name: options.refuses_cores(cores.of_device(options.n_cores), host)
        for name, options in devices.items()
    }
    return {name: why for name, why in asked.items() if why is not None}


def refused_memory(plan: Plan, host: Host) -> dict[str, str]:
    """Say which devices ask for more memory than there is to give, and why."""
    free = free_bytes(host)
    if not free or not hugepages.may_change():
        return {}  # this kernel does not say; or none are added
    devices = {trial.device.name: trial.device.driver_options for trial in plan.trials}
    asked = {name: options.refuses_memory(free) for name, options in devices.items()}
    return {name: why for name, why in asked.items() if why is not None}


def check_links(plan: Plan) -> None:
    """Refuse options that a link cannot be made of, as a card that is not there."""
    used = dict.fromkeys((trial.device.link, trial.device.dut.n_links) for trial in plan.trials)
    for kind, n in used:
        LINKS[kind].check(n, plan.spec.links.get(kind, {}))


def check_schedules(plan: Plan, description: Described) -> None:
    """Refuse a schedule, an option of one or a value that the generator does not have."""
    known = {schedule.name: schedule for schedule in description.schedules}
    for traffic in plan.spec.traffic:
        schedule = known.get(traffic.schedule)
        where = f"traffic {traffic.name}"
        if schedule is None:
            hint = did_you_mean(traffic.schedule, known)
            raise InputError(f"{where}: unknown schedule {traffic.schedule!r}{hint}")
        options = {option.name: option for option in schedule.options}
        where += f": schedule {traffic.schedule}"
        for key, value in traffic.options.items():
            if key not in options:
                hint = did_you_mean(key, options) if options else "; it has none"
                raise InputError(f"{where}: unknown option {key!r}{hint}")
            why = _why_refused(options[key], str(value))
            if why is not None:
                raise InputError(f"{where}: {key} = {value!r}: {why}")


def check_loads(plan: Plan) -> None:
    """Refuse loads that the generator could not send, or that would not happen in a trial."""
    loads = {(t.traffic.name, t.rate, *load_of(t).items()): t for t in plan.trials}
    for trial in loads.values():
        why = refusal(load_of(trial))
        if why is not None:
            raise InputError(f"traffic {trial.traffic.name} at {trial.rate}: {why}")


def _why_refused(option: OptionDescribed, text: str) -> str | None:
    """Say why dataplane/base/option_spec.c would refuse a value; None: it would not.

    Only numbers and durations are looked at, which is what schedules have.
    """
    spell: Callable[[int], str] = str
    match option.others.get("type"):
        case "uint":
            if not re.fullmatch("[0-9]{1,19}", text):
                return "a whole number is wanted"
            value = int(text)
        case "duration":
            try:
                value, spell = parse_duration_ns(text), format_ns
            except InputError as error:
                return str(error)
        case _:
            return None
    least, most = _limit(option, "min"), _limit(option, "max")
    if least <= value and (not most or value <= most):
        return None
    bounds = f"{spell(least)} to {spell(most)}" if most else f"{spell(least)} and more"
    return f"accepted are {bounds}"


def _limit(option: OptionDescribed, key: str) -> int:
    """Give the least or the most that an option takes, in its unit; 0: no limit is told."""
    limit = option.others.get(key)
    return limit if isinstance(limit, int) else 0
