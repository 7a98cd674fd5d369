"""Cores set apart for packets: by an apply in force, or at boot."""

from collections.abc import Mapping

from taut.core.cpus import cores_in
from taut.core.errors import InputError
from taut.host.host import Host
from taut.host.journal import Journal, boot_id
from taut.host.journal_lines import Entry
from taut.host.settings.cpuset_partition import CpusetPartition, cpuset_root
from taut.host.settings.thread_affinity import ThreadAffinity

BY_APPLY = "set apart by `taut host apply`"
BY_BOOT = "isolated at boot"


def cores_apart(host: Host) -> Mapping[int, str]:
    """Give the cores, and what set them apart; none where nothing did, or the journal is bad."""
    apart = dict.fromkeys(host.isolated_cores(), BY_BOOT)
    return {**apart, **dict.fromkeys(_by_journal(host), BY_APPLY)}


def partition_procs(host: Host) -> Mapping[int, str]:
    """Give, for each core of an isolated partition in force, the file that moves a process in.

    With version 2 of control groups no program outside of the partition may use its cores; with
    version 1, and without cpusets, nothing has to be done and nothing is given.
    """
    root = cpuset_root(host)
    if root is None:
        return {}
    found: dict[int, str] = {}
    for entry in _in_force(host):
        if isinstance(entry.setting, CpusetPartition):
            path = f"{root}/{entry.setting.group}/cgroup.procs"
            found |= dict.fromkeys(cores_in(entry.wanted) or (), path)
    return found


def _by_journal(host: Host) -> set[int]:
    """Give the cores of a cpuset partition; without cpusets, those that threads were moved off.

    A thread moved off some cores may still use the others: cores that no moved thread may use are
    set apart.
    """
    entries = _in_force(host)
    apart: set[int] = set()
    for entry in entries:
        if isinstance(entry.setting, CpusetPartition):
            apart |= set(cores_in(entry.wanted) or ())
    if apart:
        return apart
    left = [cores_in(e.wanted) for e in entries if isinstance(e.setting, ThreadAffinity)]
    if not left or any(cores is None for cores in left):
        return set()
    return set(host.online_cores()).difference(*(cores or () for cores in left))


def _in_force(host: Host) -> list[Entry]:
    """Give what an apply of this boot changed and has not taken back."""
    try:
        entries = Journal(host).load().entries
    except (InputError, OSError):
        return []  # another machine's journal, or not readable: apply and undo say so
    here = boot_id(host)
    return [entry for entry in entries if entry.boot == here and not entry.refusal]
