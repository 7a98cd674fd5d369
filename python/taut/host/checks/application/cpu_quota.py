"""A09: whether a control group limits the CPU time of a polling program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.application._pollers import no_process
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation
from taut.host.threads import some

_WANTED = "no quota (max), and not throttled"


@dataclass(frozen=True)
class _Quota:
    """A limit of one control group."""

    setting: FileSetting
    shown: str
    unlimited: str


class CpuQuota(Check):
    """A group's limit holds for all below it: every group above the process is judged."""

    id = "A09"
    title = "CPU quota"
    fault = "A CPU quota stops the polling program"
    severity = Severity.CRITICAL
    why = (
        "a program that polls uses up any quota, and is stopped until the period ends: 10 to 100 "
        "ms each time"
    )
    source = "admin-guide/cgroup-v2.rst; scheduler/sched-bwc.rst; Kubernetes CPU manager"
    watches = (
        "/sys/fs/cgroup/cpu.stat",
        "/sys/fs/cgroup/*/cpu.stat",
        "/sys/fs/cgroup/*/*/cpu.stat",
    )

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for a quota in force, now; throttling of the past explains nothing then."""
        found = no_process(host, situation)
        if found is not None:
            return found
        for pid in situation.processes:
            if host.read(f"/proc/{pid}/cgroup") is None:
                return unknown(f"no /proc/{pid}/cgroup", "a kernel with control groups", _WANTED)
        try:
            limits = _limits(host, situation)
        except ValueError as error:
            return unknown(str(error), "a kernel whose format taut knows", _WANTED)
        throttled = _throttled(host, situation)
        if limits or any("while watched" in words for words in throttled):
            shown = [f"{limit.setting.path} = {limit.shown}" for limit in limits]
            return failed(some([*shown, *throttled]), _WANTED, situation.cores)
        past = f"; in the past: {some(throttled)}" if throttled else ""
        return passed(f"no quota{past}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Take the limits away; a container's are the host's."""
        if situation.role is Role.CONTAINER:
            what = "no CPU limit for this container, or exclusive cores (static CPU manager)"
            return (on_the_host(self.id, what),)
        try:
            limits = _limits(host, situation)
        except ValueError:
            return ()
        if not limits:
            return ()
        return (
            Remedy(
                "A09-now",
                "take the CPU quota away",
                changes=[Change(limit.setting, limit.unlimited) for limit in limits],
                risk="neighbours lose what the program takes; systemd writes the quota again when "
                "it reloads: CPUQuota= of its unit",
            ),
        )


def _limits(host: Host, situation: Situation) -> list[_Quota]:
    """Quotas in force, once each; ValueError: a file is malformed."""
    found: dict[str, _Quota] = {}
    for pid in situation.processes:
        for folder in _groups(host, pid):
            quota = _new(host, folder) or _old(host, folder)
            if quota is not None:
                found[quota.setting.path] = quota
    return list(found.values())


def _new(host: Host, folder: str) -> _Quota | None:
    """Version 2: `max 100000`, quota and period."""
    path = f"{folder}/cpu.max"
    text = host.read(path)
    if text is None:
        return None
    words = text.split()
    if len(words) != 2 or not (words[0] == "max" or words[0].isdecimal()):
        raise ValueError(f"{path}: {text[:60]!r}")
    return None if words[0] == "max" else _Quota(FileSetting(path), text, f"max {words[1]}")


def _old(host: Host, folder: str) -> _Quota | None:
    """Version 1: -1 is no limit."""
    path = f"{folder}/cpu.cfs_quota_us"
    text = host.read(path)
    if text is None:
        return None
    try:
        quota_us = int(text)
    except ValueError:
        raise ValueError(f"{path}: {text[:60]!r}") from None
    return _Quota(FileSetting(path, "number"), text, "-1") if quota_us >= 0 else None


def _throttled(host: Host, situation: Situation) -> list[str]:
    """Since the group was made, or while it was watched."""
    found = []
    for folder in dict.fromkeys(
        folder for pid in situation.processes for folder in _groups(host, pid)
    ):
        path = f"{folder}/cpu.stat"
        total = _count(host.read(path))
        before = _count(situation.watched.before.get(path))
        after = _count(situation.watched.after.get(path))
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


def _groups(host: Host, pid: int) -> Iterator[str]:
    """Folders of the groups that hold a process, the innermost first (cgroups(7))."""
    mounts = _mounts(host)
    for line in (host.read(f"/proc/{pid}/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        is_new = number == "0" and not controllers
        if is_new or "cpu" in controllers.split(","):
            mount = mounts.get("cgroup2" if is_new else "cpu")
            # Groups outside of a container's own show as /..: what it sees is its own.
            parts = [part for part in path.split("/") if part not in ("", "..")]
            for depth in range(len(parts), -1, -1) if mount else ():
                yield "/".join([mount or "", *parts[:depth]])


def _mounts(host: Host) -> dict[str, str]:
    """Where version 2 and the cpu controller of version 1 are mounted."""
    found: dict[str, str] = {}
    for line in (host.read("/proc/mounts") or "").splitlines():
        words = line.split()
        if len(words) > 3 and words[2] == "cgroup2":
            found.setdefault("cgroup2", words[1])
        if len(words) > 3 and words[2] == "cgroup" and "cpu" in words[3].split(","):
            found.setdefault("cpu", words[1])
    return found


CHECK = CpuQuota()
