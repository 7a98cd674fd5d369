"""Parameters that name cores, judged together and against the cores there are.

What the kernel does is in kernel/sched/isolation.c and kernel/time/tick-sched.c.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from taut.core.cpus import format_cpu_list
from taut.host.kernel_parameters.command_line import Parameter
from taut.host.kernel_parameters.cpu_list import ASSUMED_CORES, parse_kernel_cpu_list
from taut.host.kernel_parameters.problem import Gravity, Kind, Problem
from taut.host.kernel_parameters.values import CPU_LISTS, split_flags

# Parameters that confine something to the cores they name, and what they confine.
_HOUSEKEEPERS = {
    "irqaffinity": "interrupts go to",
    "workqueue.unbound_cpus": "unbound work runs on",
    "kthread_cpus": "kernel threads run on",
    "systemd.cpu_affinity": "services run on",
}


@dataclass(frozen=True)
class CoreList:
    """One parameter that names cores."""

    parameter: Parameter
    flags: tuple[str, ...]
    cores: frozenset[int]

    def is_for(self, flag: str) -> bool:
        """Whether it isolates so; isolcpus without flags is `domain`."""
        return flag in (self.flags or ("domain",))


def core_lists(parameters: Sequence[Parameter], n_cores: int | None) -> list[CoreList]:
    """Give the parameters whose list of cores can be read; values.py judges the others."""
    found = []
    for parameter in parameters:
        if parameter.name not in CPU_LISTS and parameter.name not in _HOUSEKEEPERS:
            continue
        split = split_flags(parameter)
        try:
            cores = parse_kernel_cpu_list(split.cores, n_cores or ASSUMED_CORES)
        except ValueError:
            continue
        # Cores the machine lacks are values.py's, and leave no fewer to others.
        real = frozenset(core for core in cores if n_cores is None or core < n_cores)
        if real:
            found.append(CoreList(parameter, split.flags, real))
    return found


def isolation_problems(lists: Sequence[CoreList], n_cores: int | None) -> Iterator[Problem]:
    """Compare lists with each other and with the machine."""
    isolating = [item for item in lists if item.parameter.name in ("isolcpus", "nohz_full")]
    for item in isolating:
        yield from _housekeeping_problems(item, n_cores)
    yield from _together_problems(isolating, n_cores)
    yield from _nohz_problems(lists)
    yield from _keeper_problems(lists, isolating)
    yield from _offload_problems(lists)


def _housekeeping_problems(item: CoreList, n_cores: int | None) -> Iterator[Problem]:
    text = item.parameter.text
    if len(item.cores) >= (n_cores or ASSUMED_CORES):
        yield _contradiction(
            text,
            "no core is left for housekeeping: the kernel takes the boot core out again",
            "leave core 0 out, better one core of each NUMA node",
        )
    elif 0 in item.cores and item.parameter.name == "nohz_full":
        yield _contradiction(
            text,
            "the boot core keeps time: the kernel takes core 0 out of nohz_full",
            "leave core 0 out of all lists",
        )
    elif 0 in item.cores:
        yield _contradiction(
            text,
            "core 0 boots the machine and keeps what was started there before isolation",
            "isolate other cores",
            Gravity.WARNING,
        )


def _together_problems(isolating: Sequence[CoreList], n_cores: int | None) -> Iterator[Problem]:
    """All lists together must leave a core too."""
    union = frozenset().union(*(item.cores for item in isolating))
    alone = any(len(item.cores) >= (n_cores or ASSUMED_CORES) for item in isolating)
    if n_cores is not None and not alone and len(union) >= n_cores:
        yield _contradiction(
            " ".join(item.parameter.text for item in isolating),
            "together they leave no core for housekeeping: the kernel ignores the later one",
            "leave at least core 0 out of both",
        )


def _nohz_problems(lists: Sequence[CoreList]) -> Iterator[Problem]:
    """Find where `nohz_full=` and `isolcpus=`, or two `isolcpus=`, name different cores."""
    isolcpus = [item for item in lists if item.parameter.name == "isolcpus"]
    for nohz in (item for item in lists if item.parameter.name == "nohz_full"):
        for item in isolcpus:
            if item.cores == nohz.cores:
                continue
            yield _mismatch(item, nohz)
    for first, second in pairwise(isolcpus):
        if set(first.flags or ("domain",)) & set(second.flags or ("domain",)) and (
            first.cores != second.cores
        ):
            yield _contradiction(
                second.parameter.text,
                f"{first.parameter.text} stands before it: the kernel ignores the later list",
                "one isolcpus with all cores",
            )


def _mismatch(item: CoreList, nohz: CoreList) -> Problem:
    text = f"{item.parameter.text} {nohz.parameter.text}"
    differing = format_cpu_list(item.cores ^ nohz.cores)
    if item.is_for("nohz"):
        return _contradiction(
            text,
            "isolcpus=nohz and nohz_full differ: the kernel ignores the later one"
            " (Housekeeping: nohz_full= must match isolcpus=)",
            "the same list in both",
        )
    without = nohz.cores - item.cores
    if not without or not item.is_for("domain"):
        return _contradiction(
            text,
            f"the lists differ in cores {differing}: these are isolated by halves",
            "the same list in both, unless it is meant",
            Gravity.WARNING,
        )
    return _contradiction(
        text,
        f"cores {format_cpu_list(without)} lose their tick and not their tasks: the scheduler"
        " still puts work there, and a second task brings the tick back",
        "the same list in both",
    )


def _keeper_problems(lists: Sequence[CoreList], isolating: Sequence[CoreList]) -> Iterator[Problem]:
    """Find housekeeping that is sent to isolated cores."""
    isolated = frozenset().union(*(item.cores for item in isolating))
    for item in lists:
        name = item.parameter.name
        both = item.cores & isolated
        if name in _HOUSEKEEPERS and both:
            yield _contradiction(
                item.parameter.text,
                f"{_HOUSEKEEPERS[name]} cores {format_cpu_list(both)}, which are isolated",
                f"{name}= with the housekeeping cores",
            )


def _offload_problems(lists: Sequence[CoreList]) -> Iterator[Problem]:
    """Find isolated cores whose RCU callbacks stay on them."""
    offloaded = [item for item in lists if item.parameter.name in ("rcu_nocbs", "nohz_full")]
    if not any(item.parameter.name == "rcu_nocbs" for item in offloaded):
        return
    away = frozenset().union(*(item.cores for item in offloaded))
    for item in lists:
        if item.parameter.name == "isolcpus" and item.is_for("domain") and item.cores - away:
            yield _contradiction(
                item.parameter.text,
                f"cores {format_cpu_list(item.cores - away)} are isolated and still run their RCU"
                " callbacks",
                "rcu_nocbs= with the same list",
                Gravity.WARNING,
            )


def _contradiction(
    text: str, message: str, remedy: str, severity: Gravity = Gravity.ERROR
) -> Problem:
    return Problem(Kind.CONTRADICTORY, text, severity, message, remedy)
