"""Checks of guests: time that is taken from a guest, and what it cannot see."""

import re

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import Finding
from taut.host.checks._boot import CMDLINE, log_lines
from taut.host.table import CRITICAL, GUESTS, MAJOR, NOTE, Check, by_hand
from taut.host.view import WATCH, View

_STAT = "/proc/stat"
_COLUMN = 7
"""Index of the steal time after `cpuN` (proc(5)), in hundredths of a second."""
_MS = 10
# A parameter such as nested_pvm=1, which those set who nest. kvm_intel.nested= is about guests
# of this one.
_PARAMETER = re.compile(r"(?<![\w.])nested_\w+=[1yY]")
_LOG = re.compile(r"\bnested (host|guest|hypervisor)\b|running nested", re.IGNORECASE)


def steal(see: View) -> Finding:
    """Compare the column of the poll cores; of all where nobody named any."""
    ever = _steal(see.read(_STAT), see.online)
    if ever is None:
        see.cannot_tell(f"{_STAT} shows no steal", "a readable /proc/stat")
    before, after = (
        _steal(texts.get(_STAT), see.judged) for texts in (see.watched.before, see.watched.after)
    )
    since_boot = f"{sum(ever.values()) * _MS} ms on all cores since boot"
    if before is None or after is None:
        see.cannot_tell(since_boot, WATCH)
    rises = {core: after.get(core, ticks) - ticks for core, ticks in before.items()}
    hit = tuple(core for core, rise in rises.items() if rise > 0)
    seconds = see.watched.seconds
    if hit:
        shown = ", ".join(f"core {core} {rises[core] * _MS} ms" for core in hit)
        return see.failed(f"stolen in {seconds:.0f} s: {shown}", hit)
    if not any(ever.values()):
        needs = "on the host: the KVM feature of steal time, which QEMU gives by default"
        return see.unknown("0 since boot: the host may not tell of it", needs)
    return see.passed(f"less than {_MS} ms in {seconds:.0f} s ({since_boot}); shorter gaps: G02")


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


def gaps(see: View) -> Finding:
    """Say how to measure it: an audit reads, it does not poll."""
    needs = (
        f"measure: taut host noise --cores {format_cpu_list(see.cores) or 'LIST'} --duration 60s; "
        "gaps above 5 µs that no interrupt, tick or switch explains are the host's"
    )
    return see.unknown("an audit does not poll", needs)


def nested(see: View) -> Finding:
    """Look for what the kernel was told or found; a well-made nested guest shows nothing."""
    if see.machine.hypervisor is None:
        see.skip("the processor names no hypervisor")
    parameter = _PARAMETER.search(see.read(CMDLINE) or "")
    line = next((line for line in log_lines(see) if _LOG.search(line)), "")
    signs = [f"kernel: {line}"] if line else []
    if parameter is not None:
        signs.append(f"command line: {parameter[0]}")
    if signs:
        return see.failed("; ".join(signs))
    return see.unknown(
        f"hypervisor {see.machine.hypervisor}; no sign of nesting, which proves nothing",
        "ask who runs the host; or measure: interrupts of 10 µs and more in taut host noise",
    )


def hidden(see: View) -> Finding:
    """List what a guest cannot see and its tail depends on."""
    return see.unknown(
        "not visible in a guest: SMIs, C-states of the host's cores, interrupts of the host, SMT "
        "siblings, turbo and frequencies, cache allocation",
        "run taut host audit on the host, with --role kvm-host",
    )


CHECKS = (
    Check(
        "G01",
        "steal time",
        "The host takes time from this guest",
        CRITICAL,
        steal,
        "none",
        roles=GUESTS,
        watches=(_STAT,),
        remedies=by_hand(
            "give each virtual core a core of the host",
            "on the KVM host: pin each vCPU to a core of its own (virsh vcpupin), the "
            "emulator and iothreads elsewhere, isolate those cores; taut host audit --role "
            "kvm-host there",
        ),
        why="a virtual core that the host preempts stands still for a time slice, milliseconds; "
        "and no steal is no proof of quiet: 15 ms of unexplained gaps in 5 s were seen beside it",
        source="proc(5); measured on the development machine",
    ),
    Check(
        "G02",
        "unexplained gaps",
        "",
        MAJOR,
        gaps,
        "fewer than 1 above 5 µs per minute, on a host that dedicates its cores",
        roles=GUESTS,
        why="exits to the host leave no other trace in a guest; a nested guest had 310 such gaps "
        "per second, 10 µs each in the mean",
        source="measured on the development machine",
    ),
    Check(
        "G07",
        "nested virtualisation",
        "This guest runs inside another guest",
        MAJOR,
        nested,
        "a guest of bare metal",
        roles=GUESTS,
        remedies=by_hand(
            "run the guest on bare metal",
            "use a host that is no guest itself; numbers of this one say little about "
            "other machines",
        ),
        why="every exit of a nested guest passes through two hypervisors: about 12 µs per "
        "interrupt instead of 1; all other verdicts are worth less",
        source="measured on the development machine",
    ),
    Check(
        "G08",
        "what only the host shows",
        "",
        NOTE,
        hidden,
        roles=GUESTS,
        why="all of it reaches the guest as gaps without a cause: a guest is never quieter than "
        "the core it runs on",
        source="osnoise tracer documentation (interference of a host appears as hardware noise)",
    ),
)
