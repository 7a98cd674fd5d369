"""R27: tracers, probes and performance counters that somebody left on."""

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
from taut.host.checks._holders import holders
from taut.host.checks._tracing import tracefs
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation
from taut.host.threads import some

_OWN = "taut-"
_PROBES = ("kprobe_events", "uprobe_events")
_BPF_TYPES = frozenset(
    {"kprobe", "tracepoint", "raw_tracepoint", "raw_tracepoint_writable", "perf_event", "tracing"}
)
_WANTED = "no tracer, event, probe or counter outside of taut's own"


class LeftoverTracing(Check):
    """Looks at tracefs and its instances, at BPF programs, and at who holds perf counters."""

    id = "R27"
    title = "tracing left on"
    fault = "Tracing was left on"
    severity = Severity.MINOR
    why = (
        "each event costs 0.1 to 1 µs where it happens, a function tracer slows down everything; "
        "switching either interrupts every core"
    )
    source = "admin-guide/cpu-isolation.rst; trace/ftrace.rst"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look everywhere; what is on fails even where the rest is not readable."""
        folder = tracefs(host)
        seen = [] if folder is None else _in_tracefs(host, folder)
        counters = _counters(host)
        seen += [f"perf counters of {some(counters)}"] if counters else []
        programs = _bpf(host)
        seen += [f"BPF programs: {some(programs)}"] if programs else []
        if seen:
            return failed("; ".join(seen), _WANTED)
        if folder is None and "tracefs" in (host.read("/proc/filesystems") or "tracefs").split():
            return unknown(
                "tracefs is not mounted or not readable here: what it holds is not seen",
                "run on the host as root; mount -t tracefs tracefs /sys/kernel/tracing"
                if situation.role is Role.CONTAINER
                else "run as root; mount -t tracefs tracefs /sys/kernel/tracing",
                _WANTED,
            )
        bpf = "" if programs is not None else "; BPF programs not looked at (no bpftool)"
        return passed(f"none{bpf}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Switch tracers and events off; who holds the rest has to be asked."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, "switch tracing off"),)
        folder = tracefs(host)
        changes = [] if folder is None else _switched_off(host, folder)
        found = []
        if changes:
            found.append(
                Remedy(
                    "R27-now",
                    "switch tracers and events off",
                    changes=changes,
                    risk="somebody may be measuring; interrupts every core once",
                )
            )
        holding = [*_counters(host), *(_bpf(host) or ())]
        holding += [] if folder is None else _probes(host, folder)
        if holding:
            found.append(
                Remedy(
                    "R27-by-hand",
                    "end what holds probes, BPF programs or counters",
                    by_hand=f"end, or ask their owners to: {some(holding, 8)}",
                )
            )
        return tuple(found)


def _buffers(host: Host, folder: str) -> list[str]:
    """Give the main buffer and the instances that are not taut's."""
    names = [name for name in host.names(f"{folder}/instances") if not name.startswith(_OWN)]
    return [folder, *(f"{folder}/instances/{name}" for name in names)]


def _in_tracefs(host: Host, folder: str) -> list[str]:
    found = []
    for buffer in _buffers(host, folder):
        where = "" if buffer == folder else f" (instance {buffer.rpartition('/')[2]})"
        tracer = host.read(f"{buffer}/current_tracer")
        if tracer not in (None, "", "nop"):
            found.append(f"tracer {tracer}{where}")
        events = (host.read(f"{buffer}/set_event") or "").split()
        if events:
            found.append(f"events {some(events)}{where}")
    probes = _probes(host, folder)
    return [*found, f"probes {some(probes)}"] if probes else found


def _switched_off(host: Host, folder: str) -> list[Change]:
    changes = []
    for buffer in _buffers(host, folder):
        if host.read(f"{buffer}/current_tracer") not in (None, "", "nop"):
            changes.append(Change(FileSetting(f"{buffer}/current_tracer"), "nop"))
        for event in (host.read(f"{buffer}/set_event") or "").split():
            path = f"{buffer}/events/{event.replace(':', '/')}/enable"
            changes.append(Change(FileSetting(path, "number"), "0"))
    return changes


def _probes(host: Host, folder: str) -> list[str]:
    """Name dynamic events: `p:kprobes/my_probe do_sys_open`."""
    lines = [
        line for name in _PROBES for line in (host.read(f"{folder}/{name}") or "").splitlines()
    ]
    return [line.split()[0].partition(":")[2] or line for line in lines if line.split()]


def _counters(host: Host) -> list[str]:
    return holders(host, lambda target: "[perf_event]" in target)


def _bpf(host: Host) -> list[str] | None:
    """Name BPF programs that trace: `12: kprobe  name do_open  tag ...`; None: nobody can tell."""
    text = host.command("bpftool", "prog", "show")
    if text is None:
        return None
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0].rstrip(":").isdecimal() and words[1] in _BPF_TYPES:
            name = words[words.index("name") + 1] if "name" in words[:-1] else words[0]
            found.append(f"{words[1]} {name}")
    return found


CHECK = LeftoverTracing()
