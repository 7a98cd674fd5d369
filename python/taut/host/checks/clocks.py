"""Checks of clocks: the time stamp counter, the clock source and those who discipline the clock."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from taut.core.cpus import cores_in
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import boot_lines, log_lines, need_command_line, parameters
from taut.host.checks._haltpoll import may_be_kvm
from taut.host.checks._threads import need_all_programs
from taut.host.situation import Role
from taut.host.table import (
    CRITICAL,
    EVERYWHERE,
    EXTREME,
    MAJOR,
    MINOR,
    NOTE,
    REBOOT,
    Check,
    boot,
    by_hand,
    now,
    on_the_host,
    write,
)
from taut.host.view import CPU, View

_CPUINFO = "/proc/cpuinfo"
_FOLDER = "/sys/devices/system/clocksource/clocksource0"
_CURRENT = f"{_FOLDER}/current_clocksource"
_AVAILABLE = f"{_FOLDER}/available_clocksource"
_ARM = "arch_sys_counter"
# Read in user space as well, a little slower; they follow the TSC of the host.
_TOLERATED = ("kvm-clock", "hyperv_clocksource_tsc_page")
_UNSTABLE = re.compile(
    r"Marking (?:clocksource ')?tsc(?:-early)?'? (?:as )?unstable", re.IGNORECASE
)
_STEADY = frozenset({"constant_tsc", "nonstop_tsc"})
# With these the kernel trusts the TSC by itself (arch/x86/kernel/tsc.c).
_TRUSTED = _STEADY | {"tsc_adjust"}
_DEADLINE = "tsc_deadline_timer"
# Names as the kernel cuts them, at 15 characters.
_DAEMONS = ("chronyd", "ntpd", "systemd-timesyn", "phc2sys", "ptp4l")
_CHRONY = ("/etc/chrony/chrony.conf", "/etc/chrony.conf")
_CHRONY_MORE = ("/etc/chrony/conf.d/*.conf", "/etc/chrony.d/*.conf")
_NTP = ("/etc/ntpsec/ntp.conf", "/etc/ntp.conf")


def invariant_tsc(see: View) -> Finding:
    """Look for the processor's flags; on ARM for its counter among the clocksources."""
    if see.machine.vendor == "arm":
        return _arm_counter(replace(see, wanted=_ARM))
    flags = _flags(see)
    words = " ".join(_wanted_flags(see))
    # Of a real list; an odd file is not a processor without flags.
    if "tsc" not in flags and "fpu" not in flags:
        see.cannot_tell(f"{_CPUINFO} names no flags", "a kernel that lists them", words)
    absent = _absent(see)
    if absent == [_DEADLINE]:
        observed = f"absent: {_DEADLINE}; invariant all the same"
        fault = "Timers cannot be set in units of the time stamp counter"
        return replace(see.failed(observed, wanted=words, fault=fault), severity=MINOR)
    if absent:
        return see.failed(f"absent: {' '.join(absent)}", wanted=words)
    return see.passed(f"present: {words}", wanted=words)


def _wanted_flags(see: View) -> list[str]:
    wanted = ["constant_tsc", "nonstop_tsc"]
    if see.role is Role.KVM_GUEST:
        wanted.append("tsc_known_freq")
    # AMD's own processors have no such timer, and KVM gives it to every guest; others do not.
    if (see.machine.vendor != "amd" or see.is_guest) and may_be_kvm(see):
        wanted.append(_DEADLINE)
    return wanted


def _absent(see: View) -> list[str]:
    flags = _flags(see)
    return [flag for flag in _wanted_flags(see) if flag not in flags]


def _flags(see: View) -> list[str]:
    return (see.host.fields(_CPUINFO).get("flags") or "").split()


def _arm_counter(see: View) -> Finding:
    available = see.read(_AVAILABLE)
    if not available:
        see.cannot_tell(f"no {_AVAILABLE}", "a mounted /sys")
    if _ARM in available.split():
        return see.passed(f"clocksource {_ARM}")
    return see.failed(f"clocksources: {available}")


def get_a_tsc(see: View) -> Iterable[Remedy]:
    """A guest's host hides it; a machine that has none keeps none."""
    if see.machine.is_x86 and _absent(see) == [_DEADLINE]:
        guest = "on the KVM host: QEMU -cpu host (it has tsc-deadline; libvirt: host-passthrough)"
        bare = 'where dmesg says "TSC_DEADLINE disabled due to Errata": update the microcode'
        what = guest if see.is_guest else bare
        yield by_hand("give timers the TSC deadline", what, rollback=REBOOT)
        return
    if not see.is_guest:
        what = "measure on a machine with an invariant TSC"
        yield by_hand("change the machine", what, rollback=REBOOT)
        return
    yield by_hand(
        "show the guest an invariant TSC",
        "on the KVM host: give the guest the processor flag invtsc and a fixed TSC rate (QEMU: "
        "-cpu host,+invtsc,tsc-frequency=HZ; libvirt: <feature policy='require' name='invtsc'/> "
        "and <timer name='tsc' frequency='HZ'/>)",
        cost="the guest can only migrate to a host of the same TSC rate",
        rollback=REBOOT,
    )


def clocksource(see: View) -> Finding:
    """Look at the current one, and at what the kernel said of the TSC."""
    best = _best_clocksource(see)
    see = replace(see, wanted=best)
    current = see.text(_CURRENT)
    if not re.fullmatch(r"[A-Za-z][\w-]*", current):
        see.odd(_CURRENT)
    complaint = _complaint(see)
    if current == best and not complaint:
        return see.passed(current)
    if current != best and see.is_guest and current in _TOLERATED:
        return see.passed(f"{current}: tolerated in a guest, slower than {best}")
    return see.failed(f"{current}; {complaint}" if complaint else current)


def choose_clocksource(see: View) -> Iterable[Remedy]:
    """Choose it, if the kernel trusts it."""
    best = _best_clocksource(see)
    risk = "a TSC that is not the same on all cores gives wrong times"
    if see.role is Role.CONTAINER:
        yield on_the_host(f"{_CURRENT}: {best}")
    elif best not in (see.read(_AVAILABLE) or "").split() or _complaint(see):
        yield by_hand(
            "find out why the kernel does not trust the TSC",
            "dmesg names the reason (tsc, clocksource); update the firmware; in a guest, give it "
            "invtsc on the host (HW01). Do not force it with tsc=reliable",
        )
    else:
        yield now(f"choose the clocksource {best}", write(_CURRENT, best, "text"), risk=risk)
        parameter = KernelParameter("clocksource", best)
        yield boot(f"boot with the clocksource {best}", parameter, risk=risk)


def _best_clocksource(see: View) -> str:
    return _ARM if see.machine.vendor == "arm" else "tsc"


def _complaint(see: View) -> str:
    """Give the line in which the kernel said that it no longer trusts the TSC."""
    return next((f"kernel: {line}" for line in log_lines(see) if _UNSTABLE.search(line)), "")


def tsc_watchdog(see: View) -> Finding:
    """Look at the parameter, else at what the kernel decides by.

    The parameter is needed only where the kernel does not trust the TSC by itself.
    """
    machine = see.machine
    if not machine.is_x86:
        see.skip("only x86 has a TSC")
    need_command_line(see)
    if barked := boot_lines(see, "clocksource: timekeeping watchdog"):
        return see.failed(f"boot log: {barked[0][:80]}")
    values = [parameter.value for parameter in parameters(see, "tsc")]
    if off := [value for value in values if value in ("reliable", "nowatchdog")]:
        return see.passed(f"tsc={off[-1]}")
    if "tsc_reliable" in machine.flags:
        return see.passed("the hypervisor vouches for the TSC (tsc_reliable)")
    if machine.flags >= _TRUSTED and _trusts(see):
        version = f"{machine.kernel[0]}.{machine.kernel[1]}"
        return see.passed(f"kernel {version} trusts this TSC by itself (tsc_adjust)")
    return see.failed("no tsc=nowatchdog, and the kernel does not trust the TSC by itself")


def _trusts(see: View) -> bool:
    """Since 5.17 on up to two nodes, since 6.3 on up to four; since 6.10 packages are counted.

    A package may be several nodes (sub-NUMA clustering), and stable kernels took over what came
    later: between versions the smaller number is right, for a watchdog costs less than a TSC
    that nobody watches.
    """
    kernel = see.machine.kernel
    if kernel >= (6, 10):
        paths = see.paths(f"{CPU}/cpu*/topology/physical_package_id")
        return len({see.read(path) for path in paths}) <= 4
    nodes = len(cores_in(see.read("/sys/devices/system/node/online")) or ()) or 1
    return kernel >= (5, 17) and nodes <= (4 if kernel >= (6, 3) else 2)


def end_tsc_watchdog(see: View) -> Iterable[Remedy]:
    """Never for a TSC that is not steady: its time would be wrong unnoticed."""
    if see.machine.flags >= _STEADY:
        yield boot(
            "turn the watchdog off, keep the check at boot",
            KernelParameter("tsc", "nowatchdog"),
            profile=EXTREME,
            rollback=REBOOT,
            risk="a TSC that drifts later is not noticed",
            measure="tsc=reliable drops the check at boot as well: wrong time on a broken TSC",
        )


def discipline(see: View) -> Finding:
    """Ask each daemon's configuration whether it steps.

    taut itself measures with the TSC, which nobody steps or slews.
    """
    running = _daemons(see)
    if not running:
        need_all_programs(see, "no daemon is visible")
        return see.passed("no daemon disciplines the clock")
    steps = {name: _steps(see, name, argv) for name, argv in running.items()}
    if bad := [f"{name} steps: {why}" for name, why in steps.items() if why]:
        return see.failed("; ".join(bad))
    if denied := [path for path in (*_CHRONY, *_NTP) if see.host.is_denied(path)]:
        see.cannot_tell(f"{denied[0]}: permission denied", "run as root")
    return see.passed(f"{', '.join(running)} slew")


def _daemons(see: View) -> dict[str, list[str]]:
    """Give the command line of each daemon, by name."""
    found = {}
    for pid in see.names("/proc"):
        comm = (see.read(f"/proc/{pid}/comm") or "") if pid.isdecimal() else ""
        if comm in _DAEMONS:
            found[comm] = (see.read(f"/proc/{pid}/cmdline") or "").split("\0")
    return found


def _steps(see: View, name: str, argv: Sequence[str]) -> str:
    """Say why a daemon steps after its start; empty: it does not."""
    match name:
        case "chronyd":
            return _chrony(see, argv)
        case "ntpd":
            return _ntpd(see, argv)
        case "systemd-timesyn":
            return "systemd-timesyncd does for more than 0.4 s"
        case "phc2sys":
            threshold = _after(argv, "-S")
            return f"-S {threshold}" if _is_positive(threshold) else _ptp(see, argv)
        case _:
            return _ptp(see, argv)


def _chrony(see: View, argv: Sequence[str]) -> str:
    """`makestep THRESHOLD LIMIT`: in the first LIMIT updates; a negative one: always."""
    own = _after(argv, "-f")
    main = (own,) if own else _CHRONY
    for path in (*main, *(path for pattern in _CHRONY_MORE for path in see.paths(pattern))):
        for words in _directives(see, path):
            if words[0].lower() == "makestep" and len(words) > 2 and words[2].startswith("-"):
                return f"{' '.join(words)} in {path}"
    return ""


def _ntpd(see: View, argv: Sequence[str]) -> str:
    short = [word for word in argv if word.startswith("-") and not word.startswith("--")]
    if "--slew" in argv or any("x" in word for word in short):
        return ""
    for path in _NTP:
        for words in _directives(see, path):
            if words[0] == "tinker" and "step" in words[:-1]:
                threshold = words[words.index("step") + 1]
                return f"tinker step {threshold}" if _is_positive(threshold) else ""
    return "by default for more than 0.128 s"


def _ptp(see: View, argv: Sequence[str]) -> str:
    path = _after(argv, "-f")
    for words in _directives(see, path) if path else ():
        if words[0] == "step_threshold" and len(words) > 1 and _is_positive(words[1]):
            return f"step_threshold {words[1]} in {path}"
    return ""


def _directives(see: View, path: str) -> list[list[str]]:
    """Lines of a configuration that are no comments."""
    lines = (line.split() for line in (see.read(path) or "").splitlines())
    return [words for words in lines if words and words[0][0] not in "#;!%["]


def _after(argv: Sequence[str], option: str) -> str:
    return argv[argv.index(option) + 1] if option in argv[:-1] else ""


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


CHECKS = (
    Check(
        "HW01",
        "invariant time stamp counter",
        "The time stamp counter is not invariant",
        CRITICAL,
        invariant_tsc,
        roles=EVERYWHERE,
        remedies=get_a_tsc,
        why="every time stamp is a TSC reading: a counter that stops or changes its rate makes all "
        "numbers wrong, and nohz_full keeps its tick without a stable clock",
        source="Intel NFV-I host configuration (2018); cpu-isolation.rst",
    ),
    Check(
        "HW02",
        "clocksource",
        "The clocksource is slow or unstable",
        MAJOR,
        clocksource,
        roles=EVERYWHERE,
        remedies=choose_clocksource,
        why="hpet and acpi_pm cost a system call and a microsecond per reading of the time, and an "
        "unstable TSC forces the tick on; kvm-clock is read in user space, a little slower",
        source="kernel-parameters.txt; measured on the development machine",
    ),
    Check(
        "K17",
        "no watchdog over the TSC",
        "A watchdog checks the TSC",
        MINOR,
        tsc_watchdog,
        "no watchdog over the TSC: turned off by the kernel itself or by tsc=nowatchdog",
        remedies=end_tsc_watchdog,
        why="a timer that compares the TSC with a slower clock moves from core to core every half "
        "second, poll cores too",
        source="kernel-parameters.txt (tsc=); arch/x86/kernel/tsc.c; tuned; Intel NFV-I (2018)",
    ),
    Check(
        "R32",
        "clock discipline",
        "The clock may be stepped",
        NOTE,
        discipline,
        "the clock is slewed, never stepped, once the machine is up",
        roles=EVERYWHERE,
        remedies=by_hand(
            "let the clock be slewed only",
            "chrony without `makestep ... -1`; ntpd with -x; phc2sys and ptp4l without "
            "a step threshold; instead of systemd-timesyncd, chrony. Or measure with "
            "CLOCK_MONOTONIC_RAW or the TSC, as taut does",
        ),
        why="a step of the clock shows as a latency that never was, in programs that measure with "
        "CLOCK_REALTIME; slewing changes the rate of CLOCK_MONOTONIC by up to 500 ppm and more",
        source="chrony.conf(5); systemd-timesyncd(8); phc2sys(8); measured by taut's authors",
    ),
)
