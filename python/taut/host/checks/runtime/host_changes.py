"""R30: modules, cores, patches and cpusets that come and go while something is measured."""

from collections.abc import Sequence

from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
)
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import some

_MODULES = "/proc/modules"
_ONLINE = "/sys/devices/system/cpu/online"
_WANTED = "nothing changes while it is measured"


class HostChanges(Check):
    """Sees what differs between two looks; what came and went between them is not seen."""

    id = "R30"
    title = "changes of the host while watched"
    fault = "The host was changed while watched"
    severity = Severity.MAJOR
    why = (
        "loading a module, patching the kernel or taking a core down stops all cores together "
        "(stop_machine): 100 µs to milliseconds; a write to a cpuset moves threads"
    )
    source = "admin-guide/kernel-per-CPU-kthreads.rst"
    watches = (
        _MODULES,
        _ONLINE,
        "/sys/kernel/livepatch/*/enabled",
        "/sys/fs/cgroup/*/cpuset.cpus",
        "/sys/fs/cgroup/*/*/cpuset.cpus",
    )

    def inspect(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Compare before and after."""
        watched = situation.watched
        if _ONLINE not in watched.before or _ONLINE not in watched.after:
            return unknown("nobody watched", "watch a while: --watch 5s", _WANTED)
        found = _modules(watched.before.get(_MODULES, ""), watched.after.get(_MODULES, ""))
        for path in sorted({*watched.before, *watched.after}):
            before, after = watched.before.get(path), watched.after.get(path)
            if _is_judged(path) and before != after:
                found.append(f"{path} from {before or 'nothing'} to {after or 'nothing'}")
        if found:
            return failed(some(found), _WANTED, situation.cores)
        return passed(f"nothing changed in {watched.seconds:.0f} s", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """A matter of policy."""
        return (
            Remedy(
                "R30-by-hand",
                "freeze the host while it serves",
                by_hand="load modules at boot (modules-load.d); no live patches, hotplug, "
                "unattended upgrades or container starts while traffic flows",
            ),
        )


def _modules(before: str, after: str) -> list[str]:
    """Modules that came or went; their use counts change all the time."""
    old, new = (
        {line.split()[0] for line in text.splitlines() if line.split()} for text in (before, after)
    )
    return [f"module {name} loaded" for name in sorted(new - old)] + [
        f"module {name} unloaded" for name in sorted(old - new)
    ]


def _is_judged(path: str) -> bool:
    """Other checks watch files too."""
    return path == _ONLINE or path.endswith("/cpuset.cpus") or "/livepatch/" in path


CHECK = HostChanges()
