"""Audit: every check of the catalogue over one host, in one situation. Reads only."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from taut.core.cpus import CpuSet, format_cpu_list
from taut.core.errors import InputError
from taut.core.words import nearest
from taut.host.apart import partitioned
from taut.host.check import Finding, Remedy, Severity, State
from taut.host.checks import CHECKS
from taut.host.guests import runs_guests
from taut.host.host import Host
from taut.host.isolated import isolated
from taut.host.machine import Machine, read_machine
from taut.host.own_group import own_cores
from taut.host.polling import find_polling
from taut.host.situation import POLLS_ONLY, Role, Situation, TraceEvent, Waiting, Watched
from taut.host.table import Check
from taut.host.view import NOHZ_FULL
from taut.records.documents.audit import AuditDocument, CheckDocument, RemedyDocument

_NET = "/sys/class/net"


@dataclass(frozen=True)
class Row:
    """One check, what it found, and what would help where it failed."""

    check: Check
    finding: Finding
    remedies: Sequence[Remedy] = ()

    @property
    def severity(self) -> Severity:
        """What the failure costs in this situation; the check's severity where it did not fail."""
        own = self.finding.severity
        return self.check.severity if own is None else own

    @property
    def fault(self) -> str:
        """What is wrong, as a short sentence; empty where the check did not fail."""
        if self.finding.state is not State.FAIL:
            return ""
        return self.finding.fault or self.check.fault


@dataclass(frozen=True)
class Audit:
    """All checks, in the catalogue's order."""

    situation: Situation
    rows: Sequence[Row]

    def count(self, state: State) -> int:
        """How many checks are in a state."""
        return len(self.of(state))

    def of(self, state: State) -> list[Row]:
        """Give the checks in a state."""
        return [row for row in self.rows if row.finding.state is state]

    def failures(self) -> list[Row]:
        """Give what failed, the worst first."""
        return sorted(self.of(State.FAIL), key=lambda row: -row.severity)


def find_situation(
    host: Host,
    role: Role | None = None,
    cores: CpuSet | None = None,
    interfaces: Sequence[str] | None = None,
    waiting: frozenset[Waiting] = POLLS_ONLY,
) -> Situation:
    """Find out what the caller left open.

    InputError: cores that cannot poll, or an interface that is not there.
    """
    machine = read_machine(host)
    online = host.online_cores()
    polling = find_polling(host)
    if cores is not None:
        check_cores(cores, online)
    for name in interfaces or ():
        _check_interface(name, host)
    are_for_guests = role is Role.KVM_HOST
    role = role or find_role(host, machine)
    # What is isolated beside a container's cores is not its own.
    ours = own_cores(host) if role is Role.CONTAINER else ()
    isolations = _isolations(host)
    if cores is None:
        cores = _poll_cores(isolations, online, ours or online, polling.cores)
    return Situation(
        role=role,
        machine=machine,
        online=online,
        cores=cores,
        apart=_apart(host, isolations),
        processes=polling.processes,
        interfaces=tuple(interfaces) if interfaces is not None else _interfaces(host),
        are_for_guests=are_for_guests,
        waiting=waiting,
    )


def find_role(host: Host, machine: Machine) -> Role:
    """Tell a machine's role: container, guest, host of guests, or bare metal."""
    if machine.container:
        return Role.CONTAINER
    if machine.hypervisor:
        return Role.KVM_GUEST
    return Role.KVM_HOST if runs_guests(host) else Role.POLL_CORE


def check_cores(cores: CpuSet, online: CpuSet) -> None:
    """Raise InputError unless poll cores are online and leave one for everything else."""
    absent = [core for core in cores if core not in online]
    if absent:
        raise InputError(
            f"cores {format_cpu_list(cores)}: {format_cpu_list(absent)} not online; "
            f"this machine has {format_cpu_list(online)}"
        )
    if cores and set(cores) == set(online):
        raise InputError(
            f"cores {format_cpu_list(cores)}: every core of this machine; "
            "leave one for housekeeping (interrupts, kernel threads, everything else)"
        )


def run_audit(
    host: Host,
    situation: Situation,
    *,
    checks: Sequence[Check] = CHECKS,
    watch_s: float = 0.0,
    trace: Callable[[Sequence[str], CpuSet, float], Sequence[TraceEvent] | None] | None = None,
) -> Audit:
    """Run every check, after watching counters for some seconds and, given a tracer, tracing."""
    situation = observe(host, situation, checks, watch_s, trace)
    return Audit(situation, [_row(check, host, situation) for check in checks])


def observe(
    host: Host,
    situation: Situation,
    checks: Iterable[Check],
    watch_s: float,
    trace: Callable[[Sequence[str], CpuSet, float], Sequence[TraceEvent] | None] | None = None,
) -> Situation:
    """Give the situation with what checks want watched and traced."""
    if watch_s <= 0:
        return situation
    patterns = sorted({pattern for check in checks for pattern in check.watches})
    events = sorted({event for check in checks for event in check.traces})
    before = _contents(host, situation, patterns)
    start_ns = time.monotonic_ns()
    seen = trace(events, situation.cores or situation.online, watch_s) if trace else None
    rest_s = watch_s - (time.monotonic_ns() - start_ns) / 1e9
    time.sleep(max(0.0, rest_s))
    seconds = (time.monotonic_ns() - start_ns) / 1e9
    after = _contents(host, situation, patterns)
    return replace(situation, watched=Watched(seconds, before, after), events=seen)


def as_document(audit: Audit) -> AuditDocument:
    """Give the audit as `taut host audit --json` prints it and the manifest stores it."""
    situation = audit.situation
    return AuditDocument(
        role=situation.role,
        cores=format_cpu_list(situation.cores),
        online=format_cpu_list(situation.online),
        processes=tuple(situation.processes),
        interfaces=tuple(situation.interfaces),
        waiting=tuple(sorted(situation.waiting)),
        watched_s=round(situation.watched.seconds, 3),
        traced=situation.events is not None,
        counts={state: audit.count(state) for state in State},
        checks=tuple(_row_document(row) for row in audit.rows),
    )


def _row_document(row: Row) -> CheckDocument:
    check, finding = row.check, row.finding
    return CheckDocument(
        id=check.id,
        title=check.title,
        fault=row.fault,
        state=finding.state.value,
        severity=row.severity.name.lower(),
        observed=finding.observed,
        wanted=finding.wanted,
        needs=finding.needs,
        cores=format_cpu_list(finding.cores),
        why=check.why,
        source=check.source,
        remedies=tuple(
            RemedyDocument(
                id=remedy.id,
                summary=remedy.summary,
                by_hand=remedy.by_hand,
                profile=remedy.profile.name.lower(),
                measure=remedy.measure,
            )
            for remedy in row.remedies
        ),
    )


def _row(check: Check, host: Host, situation: Situation) -> Row:
    finding = check.inspect(host, situation)
    remedies = check.propose(host, situation) if finding.state is State.FAIL else ()
    return Row(check, finding, remedies)


def _isolations(host: Host) -> tuple[CpuSet, CpuSet]:
    """Give the isolated cores, and those without a tick."""
    found = isolated(host)
    return found.cores if found else (), host.cores(NOHZ_FULL)


def _apart(host: Host, isolations: Iterable[CpuSet]) -> CpuSet:
    """Give the cores set apart, without those that only an apply did: the next names all."""
    ours = partitioned(host).difference(host.isolated_cores(), host.cores(NOHZ_FULL))
    return tuple(sorted({core for alone in isolations for core in alone} - ours))


def _poll_cores(
    isolations: Iterable[CpuSet], online: CpuSet, ours: CpuSet, polled: CpuSet
) -> CpuSet:
    """Give the isolated cores among ours; without any, those that something polls on."""
    for cores in isolations:
        alone = tuple(core for core in cores if core in online and core in ours)
        if alone and alone != online:
            return alone
    return polled if set(polled) != set(online) else ()


def _check_interface(name: str, host: Host) -> None:
    known = host.names(_NET)
    if name in known:
        return
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else f"`ls {_NET}` lists them"
    raise InputError(f"--interface {name or repr(name)}: no such network interface; {hint}")


def _interfaces(host: Host) -> tuple[str, ...]:
    """Give the network interfaces of devices, without bridges and veth."""
    return tuple(name for name in host.names(_NET) if host.is_there(f"{_NET}/{name}/device"))


def _contents(host: Host, situation: Situation, patterns: Sequence[str]) -> Mapping[str, str]:
    found = {}
    for pattern in patterns:
        for path in _expanded(host, situation, pattern):
            text = host.read(path)
            if text is not None:
                found[path] = text
    return found


def _expanded(host: Host, situation: Situation, pattern: str) -> Iterable[str]:
    filled = (
        [pattern.format(pid=process) for process in situation.processes]
        if "{pid}" in pattern
        else [pattern]
    )
    return [path for text in filled for path in (host.paths(text) if "*" in text else [text])]
