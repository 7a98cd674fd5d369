"""Knobs: what `taut host effect` turns on and off. A check's remedy, a file, or how we poll."""

import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches

from taut.core.cpus import format_cpu_list
from taut.core.errors import InputError, TautError
from taut.host.apply import ApplyReport, Outcome, Wish, apply_changes
from taut.host.check import HostCheck, State
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.setting import Change
from taut.host.settings.cpuset_partition import (
    CpusetController,
    CpusetPartition,
    cpuset_root,
    isolation_here,
)
from taut.host.settings.file import FileSetting
from taut.host.situation import Situation
from taut.host.undo import undo
from taut.host.writer import Writer

DEFAULT_PRIORITY = 50

_GROUP = "taut-effect"
_FIFO = re.compile(r"SCHED_FIFO(?::(\d+))?", re.IGNORECASE)
_WRITABLE = ("/proc/sys/", "/proc/irq/", "/sys/")
_WAITING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STAT_INTERVAL = "/proc/sys/vm/stat_interval"


@dataclass(frozen=True)
class Knob:
    """One thing to turn on; all off is the machine as it is."""

    name: str
    summary: str
    changes: Sequence[Change] = ()
    priority: int = 0
    """SCHED_FIFO for the polling threads, where that is the knob."""
    why: str = ""
    """What the literature says of it, with the size of the effect."""
    source: str = ""


def find_knob(word: str, host: Host, situation: Situation, checks: Sequence[HostCheck]) -> Knob:
    """Turn a word into a knob: a check's id, KEY=VALUE, SCHED_FIFO[:N] or cpuset."""
    if fifo := _FIFO.fullmatch(word):
        return _fifo(word, int(fifo[1] or DEFAULT_PRIORITY))
    if word == "cpuset":
        return _cpuset(host, situation)
    if "=" in word:
        return _file(word, host)
    by_id = {check.id: check for check in checks}
    if word in by_id:
        return _remedy(by_id[word], host, situation)
    near = get_close_matches(word, by_id, n=1)
    hint = f"did you mean {near[0]}?" if near else "`taut host audit --all` lists the checks"
    raise InputError(
        f"knob {word!r}: no check's id, KEY=VALUE, SCHED_FIFO[:PRIORITY] or cpuset; {hint}"
    )


def settle_s(knobs: Sequence[Knob], host: Host, least_s: float) -> tuple[float, float]:
    """Give how long to wait after turning on, and after turning off, called while all is off.

    The kernel's statistics sleep the interval they had when they went to sleep: a new one counts
    from the next wake-up on.
    """
    after_on = after_off = least_s
    for change in (change for knob in knobs for change in knob.changes):
        if isinstance(change.setting, FileSetting) and change.setting.path == _STAT_INTERVAL:
            after_on = max(after_on, (host.number(_STAT_INTERVAL) or 0) + 1.0)
            after_off = max(after_off, float(change.wanted) + 1.0)
    return after_on, after_off


def launcher(knobs: Sequence[Knob], host: Host) -> tuple[str, ...]:
    """Give what starts a program where the knobs want it: in the group of a partition."""
    root = cpuset_root(host)
    for change in (change for knob in knobs for change in knob.changes):
        if isinstance(change.setting, CpusetPartition) and root is not None:
            procs = f"{root}/{change.setting.group}/cgroup.procs"
            return ("sh", "-c", 'echo 0 >"$0" && exec "$@"', procs)
    return ()


@contextmanager
def turned_on(
    knobs: Sequence[Knob], host: Host, writer: Writer, token: str
) -> Iterator[ApplyReport | None]:
    """Apply what the knobs change, verified, and take it back, whatever happens inside.

    `token` names our changes in the journal: nobody else's are taken back.
    """
    wishes = [Wish(token, change) for knob in knobs for change in knob.changes]
    if not wishes:
        yield None
        return
    had_journal = Journal(host).is_there
    try:
        with _undisturbed():
            report = apply_changes(host, writer, wishes)
        _check(report)
        yield report
    finally:
        with _undisturbed():
            take_back(host, writer, token, keep_archive=had_journal)


def take_back(host: Host, writer: Writer, token: str, *, keep_archive: bool = True) -> None:
    """Undo what is in the journal under the token; TautError: something is not as it was."""
    journal = Journal(host)
    with journal.locked():
        ours = {entry.generation for entry in journal.load().entries if entry.remedy == token}
        if not ours:
            return
        report = undo(host, writer, journal, generations=ours)
    if report.is_refused:
        names = ", ".join(touched.setting.name for touched in report.strangers)
        raise TautError(f"{names}: changed by somebody else meanwhile; see `taut host undo`")
    if report.failed:
        names = ", ".join(touched.setting.name for touched in report.failed)
        raise TautError(f"{names}: could not be put back; see `taut host undo`")
    if report.archive is not None and not keep_archive:
        # It tells of nothing but our own back and forth.
        report.archive.unlink()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let Ctrl-C and the like wait: a change is made whole, and taken back whole."""
    came: list[int] = []
    # A mask would not do: the signal goes to another thread then, and Python raises in this one.
    before = {
        number: signal.signal(number, lambda number, _: came.append(number)) for number in _WAITING
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])


def _check(report: ApplyReport) -> None:
    """All is in force but what the machine may refuse; and something is."""
    bad = [
        f"{result.wish.change.setting.name}: {result.outcome} {result.note}".strip()
        for result in report.results
        if result.outcome in (Outcome.FAILED, Outcome.OTHER_VALUE)
    ]
    if bad:
        raise TautError(f"not turned on: {'; '.join(bad)}; nothing was measured with it")
    if not any(result.outcome is Outcome.IN_FORCE for result in report.results):
        said = {f"{result.outcome} {result.note}".strip() for result in report.results}
        raise TautError(f"nothing to turn on: every change is {' or '.join(sorted(said))}")


def _fifo(word: str, priority: int) -> Knob:
    if not 1 <= priority <= 99:
        raise InputError(f"knob {word!r}: priorities are 1 to 99")
    return Knob(
        f"SCHED_FIFO:{priority}",
        f"poll as SCHED_FIFO {priority}",
        priority=priority,
        why="ordinary threads wait for a poller of a real-time priority, the kernel's own "
        "per-core threads as well; interrupts do not. Where they do wait the kernel stops the "
        "poller 50 ms a second for them (checks R09 and R10)",
        source="sched(7)",
    )


def _cpuset(host: Host, situation: Situation) -> Knob:
    changes = [Change(CpusetPartition(_GROUP), format_cpu_list(situation.cores))]
    if cpuset_root(host) is not None:
        changes.insert(0, Change(CpusetController(), "on"))
    elif changes[0].setting.read(host) is None:
        raise InputError("knob 'cpuset': no cpuset control group here")
    return Knob(
        "cpuset",
        f"cores {format_cpu_list(situation.cores)} set apart by cpusets ({isolation_here(host)})",
        changes,
        why="a foreign thread that the scheduler puts on a poll core stays a whole slice: "
        "milliseconds",
        source="cpu-isolation.rst",
    )


def _file(word: str, host: Host) -> Knob:
    key, _, value = word.partition("=")
    path = key if key.startswith("/") else f"/proc/sys/{key.replace('.', '/')}"
    if not path.startswith(_WRITABLE) or ".." in path.split("/"):
        raise InputError(f"knob {word!r}: {key} is not a sysctl, nor below /proc/irq or /sys")
    before = host.read(path)
    if before is None:
        raise InputError(f"knob {word!r}: no {path} to read here")
    setting = FileSetting(path, _form(path, before), may_refuse=path.startswith("/proc/irq/"))
    if not value or setting.agrees(before, value):
        raise InputError(f"knob {word!r}: {path} is {before} already; name another value")
    return Knob(word, f"{path}: {before} -> {value}", (Change(setting, value),))


def _form(path: str, before: str) -> str:
    if path.endswith("_list"):
        return "list"
    if path.endswith(("smp_affinity", "cpumask", "_cpus")):
        return "mask"
    if "[" in before:
        return "choice"
    return "number" if re.fullmatch(r"-?\d+", before) else "text"


def _remedy(check: HostCheck, host: Host, situation: Situation) -> Knob:
    finding = check.inspect(host, situation)
    if finding.state is State.PASS:
        raise InputError(
            f"knob {check.id}: {finding.observed} is as wanted already; to see what it is worth, "
            "name the other value as KEY=VALUE"
        )
    if finding.state is not State.FAIL:
        reason = finding.needs or finding.observed
        raise InputError(f"knob {check.id}: {finding.state} on this machine ({reason})")
    remedies = check.remedies(host, situation)
    changes = [change for remedy in remedies for change in remedy.changes]
    changes = [
        change
        for change in changes
        if not change.setting.agrees(change.setting.read(host), change.wanted)
    ]
    if not changes:
        said = "; ".join(remedy.by_hand or remedy.summary for remedy in remedies) or "nothing"
        raise InputError(f"knob {check.id}: cannot be turned while the machine runs ({said})")
    summary = "; ".join(remedy.summary for remedy in remedies if remedy.changes)
    return Knob(check.id, f"{check.title}: {summary}", changes, why=check.why, source=check.source)
