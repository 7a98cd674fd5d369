"""Threads started while an apply was in force: they inherited affinities that undo puts back.

Such a thread cannot be told from one that chose the same cores. A single core is what programs are
pinned to on purpose, so a thread with one keeps it and is named. A list of several is as good as
always inherited: it becomes what the thread it is from had.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from taut.core.cpus import CpuSet, cores_in
from taut.host.host import Host
from taut.host.journal_lines import Entry
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.threads import start_ticks
from taut.host.writer import Writer


@dataclass(frozen=True)
class InheritingThread:
    """A thread with an inherited affinity, and its cores."""

    setting: ThreadAffinity
    cores: str
    before: str
    """What the thread it inherited them from had before apply moved that."""


@dataclass(frozen=True)
class _Thread:
    number: int
    process: int
    parent: int
    comm: str
    cores: str


@dataclass(frozen=True)
class _Moved:
    """What applies made of a thread's cores, one after the other."""

    before: str
    masks: Mapping[CpuSet, int]
    """When the apply that gave it these cores began, in the unit of start times."""


def give_back(
    host: Host, writer: Writer, entries: Sequence[Entry]
) -> tuple[list[InheritingThread], list[InheritingThread]]:
    """Widen what was inherited; give the threads widened, and those left as they are.

    The threads that apply moved have their own cores again, so that none inherits from them now.
    """
    widened: list[InheritingThread] = []
    tried: set[ThreadAffinity] = set()
    while True:
        found = find_inheriting(host, entries)
        due = [one for one in found if one.setting not in tried and len(_cores(one.cores)) > 1]
        if not due:
            return widened, [one for one in found if one.setting not in tried]
        for one in due:
            tried.add(one.setting)
            try:
                one.setting.write(writer, one.before)
            except OSError:
                continue  # Bound to its core by the kernel, or gone.
            widened.append(one)


def find_inheriting(host: Host, entries: Sequence[Entry]) -> list[InheritingThread]:
    """Give the threads started since an apply, by a thread it moved, that have that one's cores.

    The entries come last first.
    """
    moved = _moved(host, entries)
    if not moved:
        return []
    threads = list(_threads(host))
    above = {thread.process: thread.parent for thread in threads}
    movers: dict[int, list[_Moved]] = {}
    for thread in threads:
        if thread.number in moved:
            movers.setdefault(thread.process, []).append(moved[thread.number])
    found = []
    for thread in threads:
        started = start_ticks(host, thread.number)
        if started is None or thread.number in moved:
            continue
        before = _before(thread, started, above, movers)
        if before is not None:
            setting = ThreadAffinity(thread.number, thread.comm, started)
            found.append(InheritingThread(setting, thread.cores, before))
    return found


def _moved(host: Host, entries: Sequence[Entry]) -> Mapping[int, _Moved]:
    """Give by number what became of the threads that applies moved and that are still there."""
    found: dict[int, _Moved] = {}
    for entry in entries:
        setting = entry.setting
        if not isinstance(setting, ThreadAffinity) or not entry.old or entry.uptime_ticks <= 0:
            continue
        if start_ticks(host, setting.thread) != setting.start_ticks:
            continue
        later = found.get(setting.thread)
        mask = {_cores(entry.in_force or entry.wanted): entry.uptime_ticks}
        found[setting.thread] = _Moved(entry.old, {**later.masks, **mask} if later else mask)
    return found


def _threads(host: Host) -> Iterable[_Thread]:
    for folder in host.paths("/proc/[0-9]*/task/[0-9]*"):
        fields = host.fields(f"{folder}/status")
        try:
            yield _Thread(
                number=int(fields["Pid"]),
                process=int(fields["Tgid"]),
                parent=int(fields["PPid"]),
                comm=fields["Name"],
                cores=fields["Cpus_allowed_list"],
            )
        except (KeyError, ValueError):
            continue  # It ended while we read.


def _before(
    thread: _Thread,
    started: int,
    above: Mapping[int, int],
    movers: Mapping[int, Sequence[_Moved]],
) -> str | None:
    """Give what the nearest thread above it with its cores had before it was moved; None: none."""
    cores = _cores(thread.cores)
    process, seen = thread.process, set[int]()
    while process and process not in seen:
        for moved in movers.get(process, ()):
            began = moved.masks.get(cores)
            if began is not None and started >= began and cores != _cores(moved.before):
                return moved.before
        seen.add(process)
        process = above.get(process, 0)
    return None


def _cores(text: str) -> CpuSet:
    return cores_in(text) or ()
