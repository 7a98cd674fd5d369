"""Cores set apart for packets: by an apply in force, or at boot."""

from collections.abc import Mapping

from taut.core.cpus import cores_in
from taut.core.errors import InputError
from taut.host.host import Host
from taut.host.journal import Journal, boot_id
from taut.host.journal_lines import Entry
from taut.host.settings.cpuset_partition import WHY_BY_NAME, CpusetPartition, cpuset_root
from taut.host.settings.thread_affinity import ThreadAffinity

BY_APPLY = "set apart by `taut host apply`"
BY_BOOT = "isolated at boot"


def cores_apart(host: Host) -> Mapping[int, str]:
    """Give the cores, and what set them apart; none where nothing did, or the journal is bad."""
    apart = dict.fromkeys(host.isolated_cores(), BY_BOOT)
    return {**apart, **dict.fromkeys(_by_journal(host), BY_APPLY)}


def refuse_partition(host: Host) -> None:
    """Raise InputError where an isolated partition of cgroup v2 is in force, by an apply.

    With version 1, and without cpusets, programs may use what is set apart.
    """
    made = [e.wanted for e in _in_force(host) if isinstance(e.setting, CpusetPartition)]
    if made and cpuset_root(host) is not None:
        raise InputError(f"cores {made[0]} are set apart: {WHY_BY_NAME}; `taut host undo` first")


def partitioned(host: Host) -> set[int]:
    """Give the cores of the partition that an apply in force made; none: there is none."""
    made = [e.wanted for e in _in_force(host) if isinstance(e.setting, CpusetPartition)]
    return {core for cores in made for core in cores_in(cores) or ()}


def _by_journal(host: Host) -> set[int]:
    """Give the cores of a cpuset partition; without cpusets, those that threads were moved off.

    A thread moved off some cores may still use the others: cores that no moved thread may use are
    set apart.
    """
    if apart := partitioned(host):
        return apart
    left = [cores_in(e.wanted) for e in _in_force(host) if isinstance(e.setting, ThreadAffinity)]
    if not left or any(cores is None for cores in left):
        return set()
    return set(host.online_cores()).difference(*(cores or () for cores in left))


def _in_force(host: Host) -> list[Entry]:
    """Give what applies of this boot changed and did not take back; of a setting the last one's."""
    try:
        entries = Journal(host).load().entries
    except (InputError, OSError):
        return []  # another machine's journal, or not readable: apply and undo say so
    here = boot_id(host)
    ours = [entry for entry in entries if entry.boot == here and not entry.refusal]
    return list({entry.setting: entry for entry in ours}.values())
