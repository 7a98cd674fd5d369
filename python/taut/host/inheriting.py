"""Threads started while an apply was in force: they inherited affinities that undo puts back.

Such a thread cannot be told from one that chose the same cores, so undo only names them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taut.core.cpus import parse_cpu_list
from taut.core.errors import InputError
from taut.host.host import Host
from taut.host.journal_lines import Entry
from taut.host.settings.thread_affinity import ThreadAffinity, start_ticks


@dataclass(frozen=True)
class InheritingThread:
    """A thread with an inherited affinity, and its cores."""

    thread: int
    comm: str
    cores: str


@dataclass(frozen=True)
class _Thread:
    number: int
    process: int
    parent: int
    comm: str
    cores: str


def find_inheriting(host: Host, entries: Sequence[Entry]) -> list[InheritingThread]:
    """Give the threads started since an apply, by a thread it moved, that have that one's cores."""
    moved = {
        entry.setting.thread: entry
        for entry in entries
        if isinstance(entry.setting, ThreadAffinity) and entry.uptime_ticks > 0
    }
    if not moved:
        return []
    began = min(entry.uptime_ticks for entry in moved.values())
    masks = {_cores(entry.wanted) for entry in moved.values()}
    threads = list(_threads(host))
    above = {thread.process: thread.parent for thread in threads}
    return [
        InheritingThread(thread.number, thread.comm, thread.cores)
        for thread in threads
        if thread.number not in moved
        and _cores(thread.cores) in masks
        and _descends(thread, above, set(moved))
        and (start_ticks(host, thread.number) or 0) >= began
    ]


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


def _descends(thread: _Thread, above: dict[int, int], moved: set[int]) -> bool:
    process, seen = thread.process, set[int]()
    while process and process not in seen:
        if process in moved:
            return True
        seen.add(process)
        process = above.get(process, 0)
    return False


def _cores(text: str | None) -> tuple[int, ...]:
    try:
        return parse_cpu_list(text or "")
    except InputError:
        return ()
