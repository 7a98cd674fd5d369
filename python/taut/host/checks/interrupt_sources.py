"""Checks of who sends interrupts to poll cores, and of who handles them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from taut.core.cpus import CpuSet, cores_in, format_cpu_list
from taut.host.boot.item import UnitState
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import need_command_line, parameters
from taut.host.checks._threads import (
    REAL_TIME,
    kernel_threads,
    need_all_programs,
    need_kernel_threads,
    set_priority,
)
from taut.host.checks._tracing import most_common, need_events
from taut.host.checks._units import is_active, starts_at_boot
from taut.host.setting import Change
from taut.host.settings.systemd_unit import SystemdUnit
from taut.host.situation import Role, TraceEvent
from taut.host.table import EVERYWHERE, MAJOR, MINIMAL, MINOR, Check, boot, by_hand, now
from taut.host.threads import Thread, stat_fields
from taut.host.view import CPU, NOHZ_FULL, View, mask_in

_UNIT = "irqbalance.service"
_FILES = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")  # Debian, Red Hat
_SENDS = ("ipi/ipi_send_cpu", "ipi/ipi_send_cpumask")
_ONE = re.compile(r"cpu=(\d+)")
_SOME = re.compile(r"cpumask=([0-9a-f,]+)")
_FROM = re.compile(r"callsite=([^+\s]+)")


def irqbalance(see: View) -> Finding:
    """Wrong where it runs and may use a polling core."""
    processes = _processes(see)
    if not processes and not is_active(see, _UNIT):
        need_all_programs(see, "irqbalance is not visible")
        return see.passed("irqbalance does not run")
    banned, said = _banned(see, processes)
    if banned is None:
        return see.unknown(f"irqbalance runs, {said}", "a ban list taut can read")
    free = tuple(core for core in see.online if core not in banned)
    return see.none_of(free, f"irqbalance runs, {said}")


def stop_or_ban(see: View) -> Iterable[Remedy]:
    """Stop it; or by hand, keep it and ban the cores."""
    if is_active(see, _UNIT):
        yield now(
            "stop irqbalance",
            Change(SystemdUnit(_UNIT), "inactive"),
            profile=MINIMAL,
            cost="interrupts of the housekeeping cores are no longer balanced",
        )
    if is_active(see, _UNIT) or starts_at_boot(see, _UNIT):
        yield boot("at boot: no irqbalance", UnitState(_UNIT, False), profile=MINIMAL)
    yield by_hand(
        "or keep it and ban the polling cores",
        f"IRQBALANCE_BANNED_CPULIST={format_cpu_list(see.cores) or 'LIST'} in "
        "/etc/default/irqbalance or /etc/sysconfig/irqbalance, then restart irqbalance",
    )


def _processes(see: View) -> list[str]:
    """Also one that no unit started."""
    paths = see.paths("/proc/[0-9]*/comm")
    return [path.split("/")[2] for path in paths if see.read(path) == "irqbalance"]


def _banned(see: View, processes: Sequence[str]) -> tuple[CpuSet | None, str]:
    """Give the cores it leaves alone, in its own order of precedence; None: unreadable."""
    environment = _environment(see, processes)
    if mask := environment.get("IRQBALANCE_BANNED_CPUS"):
        return mask_in(mask), f"IRQBALANCE_BANNED_CPUS={mask[:60]}"
    if cores := environment.get("IRQBALANCE_BANNED_CPULIST"):
        return cores_in(cores), f"IRQBALANCE_BANNED_CPULIST={cores[:60]}"
    at_boot = (see.list_of_cores(path) or () for path in (f"{CPU}/isolated", NOHZ_FULL))
    isolated = tuple(sorted({core for cores in at_boot for core in cores}))
    if isolated:
        return isolated, f"leaves alone isolcpus and nohz_full: {format_cpu_list(isolated)}"
    return (), "no core banned"


def _environment(see: View, processes: Sequence[str]) -> dict[str, str]:
    """Give what the daemon was started with; without the right to see it, its configuration."""
    for process in processes:
        text = see.read(f"/proc/{process}/environ")
        if text is not None:
            return _assignments(text.split("\0"))
    lines = [line for path in _FILES for line in (see.read(path) or "").splitlines()]
    return _assignments(line.strip().removeprefix("export ") for line in lines)


def _assignments(lines: Iterable[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {name: value.strip().strip("\"'") for name, equals, value in pairs if equals}


def other_cores(see: View) -> Finding:
    """Agents that read a register or a counter of each core (turbostat, rdmsr) show up here."""
    need_events(see, _SENDS, "Linux 6.4 or newer")
    cores = format_cpu_list(see.judged)
    senders = _senders(see)
    if not senders:
        return see.passed(f"none to {cores} while traced", see.cores)
    observed = f"{senders.total()} or more to {cores}: {most_common(senders)}"
    return see.failed(observed, see.cores)


def stop_senders(see: View) -> Iterable[Remedy]:
    """Name who to look at."""
    if senders := _senders(see):
        yield by_hand(
            "stop who interrupts the poll cores, or keep it from looking at them",
            f"end, or limit to housekeeping cores: {most_common(senders)}",
            cost="the figures such an agent collects",
        )


def _senders(see: View) -> Counter[str]:
    count: Counter[str] = Counter()
    for event in see.situation.events or ():
        if not set(see.judged).isdisjoint(_targets(event)):
            match = _FROM.search(event.fields)
            count[f"{event.comm} by {match[1] if match else 'an unknown call'}"] += 1
    return count


def _targets(event: TraceEvent) -> CpuSet:
    """Cores it is sent to."""
    if event.name == "ipi_send_cpu":
        match = _ONE.search(event.fields)
        return (int(match[1]),) if match else ()
    if event.name != "ipi_send_cpumask":
        return ()
    match = _SOME.search(event.fields)
    return (mask_in(match[1]) or ()) if match else ()


def threads(see: View) -> Finding:
    """PREEMPT_RT has interrupt threads always: there only their priority can be wrong."""
    if not see.machine.is_realtime:
        need_command_line(see)
        if parameters(see, "threadirqs"):
            return see.failed("threadirqs")
        return see.passed("no threadirqs")
    present = _on_poll_cores(see)
    if not present:
        need_kernel_threads(see)
        return see.passed("PREEMPT_RT, no interrupt thread may run on a poll core")
    polling = _priority(see)
    if polling is None:
        needs = "a program that polls: run the audit while it does"
        return see.unknown(f"PREEMPT_RT, {len(present)} interrupt threads", needs)
    strong = [thread for thread in present if thread.priority >= polling]
    observed = f"the poller has priority {polling}, {len(strong)} interrupt threads as much"
    if not strong:
        return see.passed(observed)
    return see.failed(f"{observed}: {strong[0].comm}", see.cores)


def weaken_threads(see: View) -> Iterable[Remedy]:
    """Take the parameter away, or lower the threads."""
    if not see.machine.is_realtime:
        what = "remove threadirqs from the kernel's command line"
        yield by_hand("remove threadirqs", what)
        return
    polling = _priority(see)
    if polling is None or polling < 2:
        what = "chrt -f 2 or more for the program that polls, below 99"
        yield by_hand("raise the program that polls", what)
        return
    strong = [thread for thread in _on_poll_cores(see) if thread.priority >= polling]
    if strong:
        risk = "the program that polls must leave these threads time on other cores"
        changes = (set_priority(thread, polling - 1) for thread in strong)
        yield now("lower interrupt threads", *changes, risk=risk)


def _on_poll_cores(see: View) -> list[Thread]:
    """Interrupt threads that may run on a poll core."""
    cores = set(see.judged)
    return [thread for thread in kernel_threads(see, "irq/") if cores & set(thread.allowed)]


def _priority(see: View) -> int | None:
    """Give the highest real-time priority of the programs that poll; 0: they have none."""
    found = []
    for pid in see.situation.processes:
        for path in see.paths(f"/proc/{pid}/task/*/stat"):
            fields = stat_fields(see.read(path) or "")
            if len(fields) > 38 and fields[37].isdigit() and fields[38].isdigit():
                found.append(int(fields[37]) if int(fields[38]) in REAL_TIME else 0)
    return max(found, default=None)


CHECKS = (
    Check(
        "K27",
        "interrupts are not threads, or weaker ones",
        "Interrupt threads may preempt the poller",
        MINOR,
        threads,
        "no threadirqs; on PREEMPT_RT interrupt threads below the program that polls",
        remedies=weaken_threads,
        why="a threaded handler adds a context switch to each interrupt, and runs at priority 50: "
        "it preempts a program that polls below that",
        source="Intel NFV-I (2018), 4.4; kernel-parameters.txt (threadirqs)",
    ),
    Check(
        "R01",
        "irqbalance",
        "irqbalance moves interrupts onto poll cores",
        MAJOR,
        irqbalance,
        "not running, or the polling cores banned",
        roles=EVERYWHERE - {Role.HOUSEKEEPING},
        remedies=stop_or_ban,
        host_does="stop irqbalance or ban the polling cores",
        why="it moves interrupts onto polling cores, also those moved away, within ten seconds",
        source="Intel NFV-I host configuration; tuned; OpenShift node tuning operator",
    ),
    Check(
        "R28",
        "interrupts from other cores",
        "Other cores interrupt the poll cores",
        MAJOR,
        other_cores,
        "no interrupt from another core",
        traces=_SENDS,
        remedies=stop_senders,
        why="reading a core's MSR, frequency or cache monitor from elsewhere interrupts it: 1 to "
        "3 µs on bare metal, ten times that in a guest",
        source="Linux 6.4 (ipi:ipi_send_cpu); measured by taut's authors",
    ),
)
