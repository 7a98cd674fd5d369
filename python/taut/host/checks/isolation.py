"""Checks of isolation at boot: what the kernel was built for and told, and what it made of it."""

from collections.abc import Iterable, Iterator

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import (
    CMDLINE,
    boot_lines,
    boot_log,
    given_cores,
    isolations,
    need_command_line,
    parameters,
    value,
)
from taut.host.isolated import BOOT, isolated
from taut.host.kernel_parameters.facts import read_kernel_facts
from taut.host.kernel_parameters.problem import Kind, Problem
from taut.host.lint import lint_command_line
from taut.host.setting import Change
from taut.host.settings.cpuset_partition import (
    WHY_BY_NAME,
    CpusetController,
    CpusetPartition,
    cpuset_root,
)
from taut.host.situation import Role
from taut.host.table import (
    CRITICAL,
    EVERYWHERE,
    MAJOR,
    MINIMAL,
    NOTE,
    REBOOT,
    Check,
    boot,
    by_hand,
    now,
    on_the_host,
)
from taut.host.view import CPU, NOHZ_FULL, View, named

_IGNORED = (Kind.UNKNOWN, Kind.MISSPELT, Kind.INERT)
_NEEDED = ("NO_HZ_FULL", "RCU_NOCB_CPU", "CPUSETS", "CPU_ISOLATION")
_USEFUL = ("EVENT_TRACING", "X86_CPU_RESCTRL")
_VERSION = "/proc/sys/kernel/version"
_ALONE = "these cores run only what is placed there"


def ignored_parameters(see: View) -> Finding:
    """What the kernel said since 5.14, and what lint knows beyond it: names with a dot."""
    problems = _problems(see, need_command_line(see))
    wrong = [f"{each.parameter}: {each.message}" for each in problems if each.is_wrong]
    if wrong:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        return see.failed("; ".join(wrong[:5]) + more)
    if read_kernel_facts(see.host).ignored is not None:
        return see.passed("none is ignored, says the boot log")
    if problems:
        names = " ".join(problem.parameter for problem in problems[:5])
        needs = "the log of the boot: dmesg as root, before it is overwritten"
        return see.unknown(f"unknown to taut: {names}", needs)
    return see.passed("none is ignored by taut's list of names (the boot log is not readable)")


def correct_parameters(see: View) -> Iterable[Remedy]:
    wrong = [each for each in _problems(see, see.read(CMDLINE) or "") if each.is_wrong]
    what = "; ".join(f"{problem.parameter}: {problem.remedy}" for problem in wrong)
    what = what or "remove what the kernel does not know"
    if see.role is Role.CONTAINER:
        return (on_the_host(what),)
    return (by_hand("correct the command line", what),)


def _problems(see: View, text: str) -> list[Problem]:
    found = lint_command_line(text, read_kernel_facts(see.host))
    return [problem for problem in found if problem.kind in _IGNORED]


def build_options(see: View) -> Finding:
    """Parameters of what is not built in only leave a line in the boot log."""
    options = read_kernel_facts(see.host).config
    if options is None:
        return _without_configuration(see)
    missing = [name for name in _NEEDED if options.get(name, "n") != "y"]
    lacks = [name for name in _USEFUL if options.get(name, "n") != "y"]
    note = f" (also without {' '.join(lacks)})" if lacks else ""
    if missing:
        return see.failed(f"built without {' '.join(missing)}{note}")
    return see.passed(f"{see.wanted}{note}")


def _without_configuration(see: View) -> Finding:
    """Look at what only such a kernel has."""
    said = boot_lines(see, "Housekeeping: nohz unsupported")
    if said:
        return see.failed(f"boot log: {said[0]}")
    if see.is_there(f"{CPU}/online") and not see.is_there(NOHZ_FULL):
        return see.failed(f"no {NOHZ_FULL}: built without NO_HZ_FULL")
    needs = "/boot/config-RELEASE, or a kernel with /proc/config.gz"
    return see.unknown("no build configuration", needs)


def preemption_model(see: View) -> Finding:
    """Any will do for a poller; only guests that run PREEMPT_RT want it below as well."""
    version = see.text(_VERSION)
    model = _model(see, version)
    is_realtime = see.machine.is_realtime or "PREEMPT_RT" in version
    if see.role is Role.KVM_HOST and not is_realtime:
        needs = "what the guests run: uname -v in each"
        return see.unknown(model, needs, "PREEMPT_RT where a guest runs it")
    if see.role is Role.KVM_GUEST and is_realtime:
        needs = "what the host runs: uname -v there"
        return see.unknown(model, needs, "PREEMPT_RT on the host too")
    return see.passed(model)


def _model(see: View, version: str) -> str:
    model = next((word for word in version.split() if word.startswith("PREEMPT")), "no preemption")
    if "DYNAMIC" not in version:
        return model
    asked = value(see, "preempt")
    mode = see.read("/sys/kernel/debug/sched/preempt")
    return f"{model} ({mode or (f'asked for: {asked}' if asked else 'mode not visible')})"


def domains(see: View) -> Finding:
    """In force at boot (isolcpus) or since (cpusets): either will do."""
    found = isolated(see.host)
    if found is None:
        see.odd(BOOT)
    if see.role is Role.HOUSEKEEPING:
        wanted = "no core isolated where nothing polls"
        if found.cores:
            fault = "Housekeeping cores are isolated"
            return see.failed(str(found), found.cores, wanted, fault)
        return see.passed(str(found), wanted=wanted)
    if see.role is Role.CONTAINER and not set(see.cores) <= set(found.cores):
        needs = "cat /sys/fs/cgroup/cpuset.cpus.isolated on the host: a container sees isolcpus"
        return see.unknown(str(found), f"{needs} only")
    return see.all_in(found.cores, str(found))


def set_apart(see: View) -> Iterable[Remedy]:
    """Set them apart now by cpusets, at boot by isolcpus."""
    if see.role is Role.HOUSEKEEPING or not see.can_split:
        return
    is_version_2 = cpuset_root(see.host) is not None
    controller = [Change(CpusetController(), "on")] if is_version_2 else []
    yield now(
        f"set {named(see.cores)} apart by cpusets",
        *controller,
        Change(CpusetPartition("taut"), format_cpu_list(see.cores)),
        profile=MINIMAL,
        by_name=WHY_BY_NAME if is_version_2 else "",
        # What it means on this machine is in the plan's notes.
        risk="a program that polls must be started in its group, or on its core",
        cost=_ALONE,
    )
    yield boot(
        f"isolate {named(see.cores)} at boot",
        KernelParameter("isolcpus", flags=("domain",), cores=see.cores),
        rollback=REBOOT,
        profile=MINIMAL,
        risk="nothing balances threads there: each must be pinned to its own core",
        cost=_ALONE,
    )


def lists_agree(see: View) -> Finding:
    """Of lists that contradict each other the kernel drops one, with a line in its log."""
    need_command_line(see)
    asked = [*parameters(see, "nohz_full"), *parameters(see, "isolcpus")]
    if not asked:
        see.skip("neither nohz_full= nor isolcpus= on the command line")
    words = " ".join(parameter.text for parameter in asked)
    if wrong := list(_wrong_lists(see)):
        return see.failed(f"{words}: {'; '.join(wrong)}")
    note = "" if boot_log(see) else " (boot log not readable: judged from the lists)"
    return see.passed(f"{words}{note}")


def _wrong_lists(see: View) -> Iterator[str]:
    # How the kernel begins to say that it dropped a list.
    yield from boot_lines(see, "Housekeeping:")
    nohz = [given_cores(see, each.value or "") for each in parameters(see, "nohz_full")]
    isolcpus = isolations(see)
    lists = [*nohz, *(each.cores for each in isolcpus)]
    if None in lists:
        yield "not a list of cores"
        return
    ticks = [each.cores for each in isolcpus if "nohz" in each.flags]
    if len({*nohz, *ticks}) > 1:
        yield "the lists that mean nohz differ"
    if see.online and _cores_of(lists).issuperset(see.online):
        yield "no core is left for housekeeping"
    dropped = _cores_of(nohz).difference(see.list_of_cores(NOHZ_FULL) or ())
    if present := tuple(sorted(dropped.intersection(see.online))):
        yield f"nohz_full is not in force on {named(present)}"


def _cores_of(lists: Iterable[CpuSet | None]) -> set[int]:
    return {core for cores in lists for core in cores or ()}


CHECKS = (
    Check(
        "K01",
        "the kernel ignores no parameter",
        "The kernel ignores parameters it was given",
        MAJOR,
        ignored_parameters,
        "the kernel knows every parameter that is meant for it",
        roles=EVERYWHERE,
        remedies=correct_parameters,
        why="a misspelt parameter (nosoftlookup, rcu_nocbs_poll, pcie_asmp: all from published "
        "guides) does nothing and nobody says so, so the core is as noisy as before",
        source="Linux 5.14 (86d1919a4fb0); kernel-parameters.txt",
    ),
    Check(
        "K02",
        "kernel is built for isolation",
        "The kernel is not built for isolation",
        MAJOR,
        build_options,
        " ".join(f"{name}=y" for name in _NEEDED),
        remedies=by_hand(
            "boot another kernel",
            "install a kernel with NO_HZ_FULL and RCU_NOCB_CPU (Debian: linux-image-amd64)",
        ),
        why="without NO_HZ_FULL the parameter nohz_full= does nothing but log a line, and every "
        "poll core takes 100 to 1000 ticks a second; Debian 12 has all of it",
        source="kernel/sched/isolation.c; Debian linux-config-6.1; measured (22 µs a tick in a "
        "guest)",
    ),
    Check(
        "K03",
        "preemption model",
        "",
        NOTE,
        preemption_model,
        "any",
        why="PREEMPT_RT shortens the worst wake-up, not the gaps of a core that polls, and adds a "
        "thread per interrupt; without it and with nohz_full tails were a third to a fifth",
        source="Ducked Tails (2021); kernel-parameters.txt (preempt=)",
    ),
    Check(
        "K04",
        "cores are isolated from the scheduler",
        "Cores are not isolated",
        CRITICAL,
        domains,
        "every poll core isolated (isolcpus=domain or an isolated cpuset partition)",
        roles=EVERYWHERE,
        remedies=set_apart,
        host_does="give the container exclusive, isolated cores",
        why="a foreign thread that the scheduler puts on a poll core stays a whole slice: 4.0 ms "
        "per gap with one busy neighbour; unbound kernel work and timers follow the same sets",
        source="cpu-isolation.rst; housekeeping.rst; kernel-parameters.txt (isolcpus); measured",
    ),
    Check(
        "K07",
        "nohz_full and isolcpus agree",
        "nohz_full and isolcpus do not agree",
        MAJOR,
        lists_agree,
        "lists the kernel takes, equal where both mean nohz, and a core outside them",
        remedies=by_hand(
            "correct the command line",
            "give nohz_full= and isolcpus= the same cores and leave at least core 0 out of both",
        ),
        why="the kernel drops a list that does not match the other one or leaves no core for "
        "itself: the cores then tick and are shared although the command line says otherwise",
        source="kernel/sched/isolation.c",
    ),
)
