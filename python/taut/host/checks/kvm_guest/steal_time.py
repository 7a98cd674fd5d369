"""G01: time in which the host ran something else on a virtual core."""

from collections.abc import Sequence

from taut.core.cpus import CpuSet
from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.kvm_guest._shape import not_a_guest
from taut.host.host import Host
from taut.host.situation import Situation

_STAT = "/proc/stat"
_WANTED = "none"
_COLUMN = 7
"""Of the times after `cpuN` (proc(5)), in hundredths of a second."""
_MS = 10


class _StealTime(Check):
    id = "G01"
    title = "steal time"
    fault = "The host takes time from this guest"
    severity = Severity.CRITICAL
    why = (
        "a virtual core that the host preempts stands still for a time slice, milliseconds; and "
        "no steal is no proof of quiet: 15 ms of unexplained gaps in 5 s were seen beside it"
    )
    source = "proc(5); measured on the development machine"
    watches = (_STAT,)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the column of the poll cores; of all where nobody named any."""
        if (finding := not_a_guest(situation)) is not None:
            return finding
        ever = _steal(host.read(_STAT), situation.online)
        if ever is None:
            return unknown(f"{_STAT} shows no steal", "a readable /proc/stat", _WANTED)
        judged = situation.cores or situation.online
        before = _steal(situation.watched.before.get(_STAT), judged)
        after = _steal(situation.watched.after.get(_STAT), judged)
        since_boot = f"{sum(ever.values()) * _MS} ms on all cores since boot"
        if before is None or after is None:
            return unknown(since_boot, "watch a while: --watch 5s", _WANTED)
        rises = {core: after.get(core, ticks) - ticks for core, ticks in before.items()}
        hit = tuple(core for core, rise in rises.items() if rise > 0)
        seconds = situation.watched.seconds
        if hit:
            shown = ", ".join(f"core {core} {rises[core] * _MS} ms" for core in hit)
            return failed(f"stolen in {seconds:.0f} s: {shown}", _WANTED, hit)
        if not any(ever.values()):
            needs = "on the host: the KVM feature of steal time, which QEMU gives by default"
            return unknown("0 since boot: the host may not tell of it", needs, _WANTED)
        observed = f"less than {_MS} ms in {seconds:.0f} s ({since_boot}); shorter gaps: G02"
        return passed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Only the host can."""
        return (
            Remedy(
                "G01-by-hand",
                "give each virtual core a core of the host",
                by_hand="on the KVM host: pin each vCPU to a core of its own (virsh vcpupin), the "
                "emulator and iothreads elsewhere, isolate those cores; taut host audit --role "
                "kvm-host there",
            ),
        )


def _steal(text: str | None, cores: CpuSet) -> dict[int, int] | None:
    """By core; None: the text has no such columns."""
    found = {}
    for line in (text or "").splitlines():
        name, *words = line.split() or [""]
        core = name.removeprefix("cpu")
        if name == core or not core.isdecimal() or int(core) not in cores:
            continue
        if len(words) <= _COLUMN or not words[_COLUMN].isdecimal():
            return None
        found[int(core)] = int(words[_COLUMN])
    return found or None


CHECK = _StealTime()
