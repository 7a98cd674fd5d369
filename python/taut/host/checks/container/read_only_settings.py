"""C03: whether the machine's settings can be written from in here."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.check import Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.container._shape import ContainerCheck, own_cores
from taut.host.host import Host
from taut.host.shapes import on_the_host
from taut.host.situation import Situation

_MOUNTS = "/proc/self/mounts"
# A mount of a longer path hides the shorter one: runtimes bind /proc/sys read-only over /proc.
_PLACES = ("/sys", "/proc", "/proc/sys", "/proc/irq")
_WANTED = "settings changed on the host"


class ReadOnlySettings(ContainerCheck):
    """It is right that they are read-only; what is wrong must then be mended outside."""

    id = "C03"
    title = "settings that can be written"
    fault = "Settings cannot be written"
    severity = Severity.NOTE
    why = "where /sys and /proc/sys are read-only, taut can judge settings but change none"
    source = "mount flags; the container runtime's defaults"

    def judge(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """By the flags of the mounts."""
        flags = {
            fields[1]: fields[3].split(",")
            for fields in (line.split() for line in (host.read(_MOUNTS) or "").splitlines())
            if len(fields) >= 4 and fields[1] in _PLACES
        }
        if "/sys" not in flags or "/proc" not in flags:
            return unknown(f"{_MOUNTS} names no /sys or /proc", f"a readable {_MOUNTS}", _WANTED)
        closed = [place for place in _PLACES if "ro" in flags.get(place, ())]
        if closed:
            return failed(f"read-only: {', '.join(closed)}", _WANTED)
        return passed("/sys and /proc can be written", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """The same plan, outside."""
        cores = own_cores(host, situation)
        named = f" --cores {format_cpu_list(cores)}" if cores else ""
        return (on_the_host(self.id, f"taut host plan --role poll-core{named}, then apply"),)


CHECK = ReadOnlySettings()
