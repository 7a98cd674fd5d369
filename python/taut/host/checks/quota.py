"""The check of CPU quotas: whether a control group stops the polling program."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from taut.host.check import Finding, Remedy
from taut.host.checks._pollers import need_processes
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.table import CRITICAL, WITH_CONTAINERS, Check, now
from taut.host.threads import some
from taut.host.view import NEW_FORMAT, View


@dataclass(frozen=True)
class _Quota:
    """A limit of one control group."""

    setting: FileSetting
    shown: str
    unlimited: str


def quota(see: View) -> Finding:
    """A group's limit holds for all below it: every group above the process is judged.

    Throttling of the past explains nothing now.
    """
    for pid in need_processes(see):
        if see.read(f"/proc/{pid}/cgroup") is None:
            see.cannot_tell(f"no /proc/{pid}/cgroup", "a kernel with control groups")
    try:
        limits = _limits(see)
    except ValueError as error:
        see.cannot_tell(str(error), NEW_FORMAT)
    throttled = _throttled(see)
    if limits or any("while watched" in words for words in throttled):
        shown = [f"{limit.setting.path} = {limit.shown}" for limit in limits]
        return see.failed(some([*shown, *throttled]), see.cores)
    mounts = _mounts(see)
    for pid in see.situation.processes:
        if not any(map(see.is_there, _groups_of(see, pid, mounts))):
            needs = "a mounted file system of control groups"
            see.cannot_tell(f"no control group of process {pid} is visible", needs)
    past = f"; in the past: {some(throttled)}" if throttled else ""
    return see.passed(f"no quota{past}")


def take_quota_away(see: View) -> Iterable[Remedy]:
    """Take the limits away."""
    try:
        limits = _limits(see)
    except ValueError:
        return
    if limits:
        yield now(
            "take the CPU quota away",
            *(Change(limit.setting, limit.unlimited) for limit in limits),
            risk="neighbours lose what the program takes; systemd writes the quota again when "
            "it reloads: CPUQuota= of its unit",
        )


def _limits(see: View) -> list[_Quota]:
    """Quotas in force, once each; ValueError: a file is malformed."""
    found: dict[str, _Quota] = {}
    for folder in _groups(see):
        limit = _new(see, folder) or _old(see, folder)
        if limit is not None:
            found[limit.setting.path] = limit
    return list(found.values())


def _new(see: View, folder: str) -> _Quota | None:
    """Version 2: `max 100000`, quota and period."""
    path = f"{folder}/cpu.max"
    text = see.read(path)
    if text is None:
        return None
    words = text.split()
    if len(words) != 2 or not (words[0] == "max" or words[0].isdecimal()):
        raise ValueError(f"{path}: {text[:60]!r}")
    return None if words[0] == "max" else _Quota(FileSetting(path), text, f"max {words[1]}")


def _old(see: View, folder: str) -> _Quota | None:
    """Version 1: -1 is no limit."""
    path = f"{folder}/cpu.cfs_quota_us"
    text = see.read(path)
    if text is None:
        return None
    try:
        quota_us = int(text)
    except ValueError:
        raise ValueError(f"{path}: {text[:60]!r}") from None
    return _Quota(FileSetting(path, "number"), text, "-1") if quota_us >= 0 else None


def _throttled(see: View) -> list[str]:
    """Since the group was made, or while it was watched."""
    found = []
    for folder in dict.fromkeys(_groups(see)):
        path = f"{folder}/cpu.stat"
        total = _count(see.read(path))
        before, after = (
            _count(texts.get(path)) for texts in (see.watched.before, see.watched.after)
        )
        if before is not None and after is not None and after > before:
            found.append(f"{folder} throttled {after - before} times while watched")
        elif total:
            found.append(f"{folder} throttled {total} times since it was made")
    return found


def _count(stat: str | None) -> int | None:
    for line in (stat or "").splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "nr_throttled" and words[1].isdecimal():
            return int(words[1])
    return None


def _groups(see: View) -> Iterator[str]:
    """Folders of the groups that hold each process."""
    mounts = _mounts(see)
    for pid in see.situation.processes:
        yield from _groups_of(see, pid, mounts)


def _groups_of(see: View, pid: int, mounts: Mapping[str, str]) -> Iterator[str]:
    """Folders of the groups that hold one process, the innermost first (cgroups(7))."""
    for line in (see.read(f"/proc/{pid}/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        is_new = number == "0" and not controllers
        mount = mounts.get("cgroup2" if is_new else "cpu")
        if mount and (is_new or "cpu" in controllers.split(",")):
            # Groups outside of a container's own show as /..: what it sees is its own.
            parts = [part for part in path.split("/") if part not in ("", "..")]
            for depth in range(len(parts), -1, -1):
                yield "/".join([mount, *parts[:depth]])


def _mounts(see: View) -> dict[str, str]:
    """Where version 2 and the cpu controller of version 1 are mounted."""
    found: dict[str, str] = {}
    for line in (see.read("/proc/mounts") or "").splitlines():
        words = line.split()
        if len(words) > 3 and words[2] == "cgroup2":
            found.setdefault("cgroup2", words[1])
        if len(words) > 3 and words[2] == "cgroup" and "cpu" in words[3].split(","):
            found.setdefault("cpu", words[1])
    return found


CHECKS = (
    Check(
        "A09",
        "CPU quota",
        "A CPU quota stops the polling program",
        CRITICAL,
        quota,
        "no quota (max), and not throttled",
        roles=WITH_CONTAINERS,
        watches=(
            "/sys/fs/cgroup/cpu.stat",
            "/sys/fs/cgroup/*/cpu.stat",
            "/sys/fs/cgroup/*/*/cpu.stat",
        ),
        remedies=take_quota_away,
        host_does="no CPU limit for this container, or exclusive cores (static CPU manager)",
        why="a program that polls uses up any quota, and is stopped until the period ends: 10 to "
        "100 ms each time",
        source="admin-guide/cgroup-v2.rst; scheduler/sched-bwc.rst; Kubernetes CPU manager",
    ),
)
