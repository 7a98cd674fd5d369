"""Checks of what changes a host while it serves: tracing left on, modules, cores and cpusets."""

from collections.abc import Iterable

from taut.core.trace_names import TRACE
from taut.host.check import Finding, Remedy
from taut.host.checks._holders import holders
from taut.host.checks._tracing import tracefs
from taut.host.setting import Change
from taut.host.situation import Role
from taut.host.table import EVERYWHERE, MAJOR, MINOR, Check, by_hand, now, write
from taut.host.threads import some
from taut.host.trace_sample import is_elsewhere, is_under_way
from taut.host.view import WATCH, View

_PROBES = ("kprobe_events", "uprobe_events")
_BPF_TYPES = frozenset(
    {"kprobe", "tracepoint", "raw_tracepoint", "raw_tracepoint_writable", "perf_event", "tracing"}
)
_MODULES = "/proc/modules"
_ONLINE = "/sys/devices/system/cpu/online"


def tracing(see: View) -> Finding:
    """Looks at tracefs and its instances, at BPF programs, and at who holds perf counters.

    What is on fails even where the rest is not readable.
    """
    folder = tracefs(see.host)
    seen = [] if folder is None else _in_tracefs(see, folder)
    if counters := _counters(see):
        seen.append(f"perf counters of {some(counters)}")
    programs = _bpf(see)
    if programs:
        seen.append(f"BPF programs: {some(programs)}")
    if seen:
        return see.failed("; ".join(seen))
    if folder is None and "tracefs" in (see.read("/proc/filesystems") or "tracefs").split():
        run = "run on the host as root" if see.role is Role.CONTAINER else "run as root"
        return see.unknown(
            "tracefs is not mounted or not readable here: what it holds is not seen",
            f"{run}; mount -t tracefs tracefs /sys/kernel/tracing",
        )
    bpf = "" if programs is not None else "; BPF programs not looked at (no bpftool)"
    return see.passed(f"none{bpf}")


def end_tracing(see: View) -> Iterable[Remedy]:
    """Switch tracers and events off; who holds the rest has to be asked."""
    folder = tracefs(see.host)
    if changes := [] if folder is None else _switched_off(see, folder):
        risk = "somebody may be measuring; interrupts every core once"
        yield now("switch tracers and events off", *changes, risk=risk)
    holding = [*_counters(see), *(_bpf(see) or ())]
    holding += [] if folder is None else _probes(see, folder)
    if holding:
        what = f"end, or ask their owners to: {some(holding, 8)}"
        yield by_hand("end what holds probes, BPF programs or counters", what)


def _buffers(see: View, folder: str) -> list[str]:
    """Give the main buffer and the instances, but for those that a living taut records into."""
    names = [name for name in see.names(f"{folder}/instances") if not _is_taken(see, name)]
    return [folder, *(f"{folder}/instances/{name}" for name in names)]


def _is_taken(see: View, name: str) -> bool:
    trace = TRACE.fullmatch(name)
    if trace is None:
        return is_under_way(name, see.host)
    is_tracer = see.read(f"/proc/{trace[1]}/comm") == "taut-trace"
    return is_tracer or is_elsewhere(trace[2], see.host)


def _tracer(see: View, buffer: str) -> str:
    """Name the tracer that is on; empty: none."""
    tracer = see.read(f"{buffer}/current_tracer") or ""
    return "" if tracer == "nop" else tracer


def _events(see: View, buffer: str) -> list[str]:
    return (see.read(f"{buffer}/set_event") or "").split()


def _in_tracefs(see: View, folder: str) -> list[str]:
    found = []
    for buffer in _buffers(see, folder):
        where = "" if buffer == folder else f" (instance {buffer.rpartition('/')[2]})"
        if tracer := _tracer(see, buffer):
            found.append(f"tracer {tracer}{where}")
        if events := _events(see, buffer):
            found.append(f"events {some(events)}{where}")
    probes = _probes(see, folder)
    return [*found, f"probes {some(probes)}"] if probes else found


def _switched_off(see: View, folder: str) -> list[Change]:
    changes = []
    for buffer in _buffers(see, folder):
        if _tracer(see, buffer):
            changes.append(write(f"{buffer}/current_tracer", "nop", "text"))
        names = (event.replace(":", "/") for event in _events(see, buffer))
        changes += [write(f"{buffer}/events/{name}/enable", "0") for name in names]
    return changes


def _probes(see: View, folder: str) -> list[str]:
    """Name dynamic events: `p:kprobes/my_probe do_sys_open`."""
    texts = (see.read(f"{folder}/{name}") or "" for name in _PROBES)
    lines = [line for text in texts for line in text.splitlines() if line.split()]
    return [line.split()[0].partition(":")[2] or line for line in lines]


def _counters(see: View) -> list[str]:
    return holders(see.host, lambda target: "[perf_event]" in target)


def _bpf(see: View) -> list[str] | None:
    """Name BPF programs that trace: `12: kprobe  name do_open  tag ...`; None: nobody can tell."""
    text = see.command("bpftool", "prog", "show")
    if text is None:
        return None
    found = []
    for words in (line.split() for line in text.splitlines()):
        if len(words) > 1 and words[0].rstrip(":").isdecimal() and words[1] in _BPF_TYPES:
            name = words[words.index("name") + 1] if "name" in words[:-1] else words[0]
            found.append(f"{words[1]} {name}")
    return found


def while_watched(see: View) -> Finding:
    """Sees what differs between two looks; what came and went between them is not seen."""
    before, after = see.watched.before, see.watched.after
    if _ONLINE not in before or _ONLINE not in after:
        return see.unknown("nobody watched", WATCH)
    old, new = (_modules(texts.get(_MODULES, "")) for texts in (before, after))
    found = [f"module {name} loaded" for name in sorted(new - old)]
    found += [f"module {name} unloaded" for name in sorted(old - new)]
    for path in sorted({*before, *after}):
        # Other checks watch files too.
        is_ours = path == _ONLINE or path.endswith("/cpuset.cpus") or "/livepatch/" in path
        if is_ours and before.get(path) != after.get(path):
            was, is_now = (texts.get(path) or "nothing" for texts in (before, after))
            found.append(f"{path} from {was} to {is_now}")
    if found:
        return see.failed(some(found), see.cores)
    return see.passed(f"nothing changed in {see.watched.seconds:.0f} s")


def _modules(text: str) -> set[str]:
    """Name them; their use counts change all the time."""
    return {line.split()[0] for line in text.splitlines() if line.split()}


CHECKS = (
    Check(
        "R27",
        "tracing left on",
        "Tracing was left on",
        MINOR,
        tracing,
        "no tracer, event, probe or counter outside of taut's own",
        roles=EVERYWHERE,
        remedies=end_tracing,
        host_does="switch tracing off",
        why="each event costs 0.1 to 1 µs where it happens, a function tracer slows down "
        "everything; switching either interrupts every core",
        source="admin-guide/cpu-isolation.rst; trace/ftrace.rst",
    ),
    Check(
        "R30",
        "changes of the host while watched",
        "The host was changed while watched",
        MAJOR,
        while_watched,
        "nothing changes while it is measured",
        roles=EVERYWHERE,
        watches=(
            _MODULES,
            _ONLINE,
            "/sys/kernel/livepatch/*/enabled",
            "/sys/fs/cgroup/*/cpuset.cpus",
            "/sys/fs/cgroup/*/*/cpuset.cpus",
        ),
        remedies=by_hand(
            "freeze the host while it serves",
            "load modules at boot (modules-load.d); no live patches, hotplug, "
            "unattended upgrades or container starts while traffic flows",
        ),
        why="loading a module, patching the kernel or taking a core down stops all cores together "
        "(stop_machine): 100 µs to milliseconds; a write to a cpuset moves threads",
        source="admin-guide/kernel-per-CPU-kthreads.rst",
    ),
)
