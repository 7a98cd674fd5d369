"""Checks of watchdogs, logs and error counters that interrupt cores or hold them up."""

import re
from collections.abc import Iterable

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import KernelParameter, Sysctl, SysfsValue
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import parameters, value
from taut.host.kernel_parameters.facts import read_kernel_facts
from taut.host.situation import Role
from taut.host.table import (
    BARE,
    EVERYWHERE,
    EXTREME,
    MAJOR,
    MINOR,
    NOTE,
    REBOOT,
    Check,
    boot,
    by_hand,
    file_check,
    now,
    write,
)
from taut.host.view import View, named

# One value for all cores, shown in every core's folder.
_BANKS = "/sys/devices/system/machinecheck/machinecheck0"
_INTERVAL, _IGNORE = f"{_BANKS}/check_interval", f"{_BANKS}/ignore_ce"
_ENABLED = re.compile(r"enabled[ =](\d)")
_KERNEL = "/proc/sys/kernel"
_WATCHED = f"{_KERNEL}/watchdog_cpumask"
_LEVELS = f"{_KERNEL}/printk"
_SERIAL = ("ttyS", "ttyAMA", "ttyUSB", "hvc", "ttymxc")
_QUIET = 3
_SEEN_LATE = "corrected errors that raise no interrupt are seen late or not at all"
_SET_AGAIN = "a failing memory module is noticed late; an agent (rasdaemon) may set it again"


def machine_checks(see: View) -> Finding:
    """The values are the same for all cores. mce=off makes uncorrected errors silent corruption."""
    if not see.machine.is_x86:
        see.skip("machine checks are x86's")
    if _is_off(see):
        return see.failed("mce=off", fault="Uncorrected errors go unnoticed")
    if not see.is_there(_BANKS):
        see.skip(f"no {_BANKS} on this kernel")
    ignore, interval = see.number(_IGNORE), see.number(_INTERVAL)
    if ignore is None or interval is None:
        needs = f"numbers in {_IGNORE} and check_interval"
        return see.unknown(f"ignore_ce {ignore}, check_interval {interval}", needs)
    is_good = ignore == 1 or interval == 0
    return see.good_if(is_good, f"ignore_ce={ignore}, check_interval={interval}")


def ignore_corrected(see: View) -> Iterable[Remedy]:
    """Stop the timer now; at boot ignore corrected errors."""
    if _is_off(see):
        what = "remove mce=off from the kernel's command line; mce=ignore_ce is what was meant"
        yield by_hand("take mce=off back", what)
        return
    risk = "a failing memory module is not noticed before it fails"
    cost = "corrected errors that raise no interrupt are not counted (rasdaemon, EDAC)"
    change = write(_INTERVAL, "0")
    yield now("do not poll for corrected errors", change, profile=EXTREME, risk=risk, cost=cost)
    yield boot(
        "ignore corrected errors",
        KernelParameter("mce", "ignore_ce"),
        rollback=REBOOT,
        profile=EXTREME,
        risk=risk,
        cost=cost,
        measure="the kernel's documentation does not recommend it; tuned does it",
    )


def _is_off(see: View) -> bool:
    return "off" in (parameter.value for parameter in parameters(see, "mce"))


def audit_rules(see: View) -> Finding:
    """Ask auditctl; without it only what cannot be on is known."""
    if (read_kernel_facts(see.host).config or {}).get("AUDIT") == "n":
        see.skip("this kernel has no audit")
    if value(see, "audit") in ("0", "off"):
        return see.passed("audit=0")
    status = _ENABLED.search(see.command("auditctl", "-s") or "")
    if status is None:
        see.cannot_tell("auditctl does not answer", "auditctl (package auditd), as root")
    if status[1] == "0":
        return see.passed("auditing is disabled")
    rules = see.command("auditctl", "-l")
    if rules is None:
        see.cannot_tell(f"enabled {status[1]}, rules unknown", "run as root")
    if rules.startswith("No rules"):
        return see.passed(f"enabled {status[1]}, no rules")
    locked = ", locked until the next boot" if status[1] == "2" else ""
    return see.failed(f"enabled {status[1]}{locked}, {len(rules.splitlines())} rules")


def lockup_watchdogs(see: View) -> Finding:
    """Taking the poll cores out of the mask keeps the detectors for the others."""
    if see.read(f"{_KERNEL}/watchdog") == "0":
        return see.passed("both watchdogs are off")
    names = ("nmi_watchdog", "soft_watchdog")
    values = {name: see.read(f"{_KERNEL}/{name}") for name in names}
    observed = ", ".join(f"{name}={value}" for name, value in values.items() if value)
    if observed and all(value in ("0", None) for value in values.values()):
        return see.passed(observed)
    cores = see.list_of_cores(_WATCHED)
    if cores is None:
        see.odd(_WATCHED)
    mask = f"watchdog_cpumask={see.read(_WATCHED)}"
    return see.none_in(cores, f"{observed}, {mask}" if observed else mask)


def watch_others(see: View) -> Iterable[Remedy]:
    """Leave the poll cores out; the last microsecond: none at all."""
    if see.can_split:
        cores = format_cpu_list(see.housekeeping)
        summary = f"watch {named(see.housekeeping)} only"
        cost = "a hang of a poll core is not reported"
        yield now(summary, write(_WATCHED, cores, "list"), cost=cost)
        item = Sysctl("kernel.watchdog_cpumask", cores, "list")
        yield boot(summary, item, rollback=REBOOT, cost=cost)
    yield boot(
        "boot without both watchdogs",
        KernelParameter("nmi_watchdog", "0"),
        KernelParameter("nosoftlockup"),
        id="boot-2",
        rollback=REBOOT,
        profile=EXTREME,
        cost="no hang is reported at all; a performance counter becomes free",
    )


def serial_console(see: View) -> Finding:
    """A slow line holds up whoever prints: serial consoles in use, and how much reaches them."""
    words = see.text(_LEVELS).split()
    if not words or not all(word.isdigit() for word in words):
        see.odd(_LEVELS)
    consoles = _consoles(see)
    has_line = any(name.startswith(_SERIAL) for name in consoles)
    observed = f"console {' '.join(consoles) or 'none'}, loglevel {words[0]}"
    return see.good_if(not has_line or int(words[0]) <= _QUIET, observed)


def print_less(see: View) -> Iterable[Remedy]:
    """Print less to it: the log keeps everything."""
    words = (see.read(_LEVELS) or "").split()
    cost = "warnings no longer show on the console; dmesg has them"
    change = write(_LEVELS, "\t".join([str(_QUIET), *words[1:]]), "text")
    yield now(f"set the console's loglevel to {_QUIET}", change, cost=cost)
    items = (KernelParameter("quiet"), KernelParameter("loglevel", str(_QUIET)))
    yield boot(f"boot with loglevel {_QUIET}", *items, rollback=REBOOT, cost=cost)


def _consoles(see: View) -> list[str]:
    active = see.read("/sys/class/tty/console/active")
    if active is not None:
        return active.split()
    asked = parameters(see, "console")
    return [(parameter.value or "").partition(",")[0] for parameter in asked]


def machine_check_polling(see: View) -> Finding:
    """Either switch is enough. Uncorrected errors are reported in any case."""
    seconds, ignore = see.integer(_INTERVAL), see.read(_IGNORE)
    observed = f"check_interval {seconds} s, ignore_ce {ignore or 'not there'}"
    return see.good_if(seconds == 0 or ignore == "1", observed)


CHECKS = (
    Check(
        "K18",
        "no polling for corrected errors",
        "Every core polls for corrected errors",
        MINOR,
        machine_checks,
        "corrected errors are not polled for (ignore_ce=1 or check_interval=0); never mce=off",
        roles=BARE,
        remedies=ignore_corrected,
        why="a timer on every core looks for corrected memory errors every five minutes; with "
        "mce=off, as some guides have it, uncorrected errors corrupt data unnoticed",
        source="x86 boot-options.rst (mce=); Ducked Tails (2021); tuned; Intel NFV-I and NTO say "
        "off",
    ),
    Check(
        "K19",
        "no auditing of system calls",
        "System calls are audited",
        MINOR,
        audit_rules,
        "audit off, or without rules",
        remedies=(
            # Left to those who must answer for compliance.
            by_hand("disable auditing", "auditctl -e 0; auditctl -e 1 takes it back"),
            boot(
                "boot without audit",
                KernelParameter("audit", "0"),
                rollback=REBOOT,
                profile=EXTREME,
                cost="no audit trail: check what compliance asks for",
            ),
        ),
        why="with rules loaded every system call of every process goes the slow way through audit, "
        "a microsecond or less; a loop that only polls makes none",
        source="Ducked Tails (2021); kernel-parameters.txt (audit=)",
    ),
    Check(
        "K20",
        "lockup watchdogs stay away",
        "Lockup watchdogs run on poll cores",
        MINOR,
        lockup_watchdogs,
        "watchdog_cpumask without poll cores, or both watchdogs off",
        remedies=watch_others,
        why="each watched core takes a timer every four seconds, a wake-up of a thread of the "
        "highest priority, and non-maskable interrupts that occupy a performance counter",
        source="kernel-parameters.txt (nmi_watchdog, nosoftlockup); tuned; Ducked Tails (2021)",
    ),
    Check(
        "K25",
        "nothing is printed to a serial line",
        "Messages are printed to a serial line",
        MAJOR,
        serial_console,
        f"console loglevel {_QUIET} or less, or no serial console",
        roles=BARE | {Role.HOUSEKEEPING},
        remedies=print_less,
        why="a message to a serial console goes out byte by byte with interrupts off: 9 ms for a "
        "line of 100 characters at 115200 baud, on whichever core printed it",
        source="tuned (optimize-serial-console); arithmetic: 10 bits a character",
    ),
    Check(
        "R20",
        "machine check polling",
        "Every core polls for machine checks",
        MINOR,
        machine_check_polling,
        "check_interval 0, or ignore_ce 1",
        roles=BARE,
        remedies=(
            # Interrupts still tell of corrected errors (CMCI).
            now(
                "stop polling for machine checks",
                write(_INTERVAL, "0"),
                profile=EXTREME,
                risk=_SET_AGAIN,
                cost=_SEEN_LATE,
            ),
            boot(
                "at boot: stop polling for machine checks",
                SysfsValue(_INTERVAL, "0"),
                profile=EXTREME,
                risk=_SET_AGAIN,
                cost=_SEEN_LATE,
            ),
        ),
        why="a timer on every core, each five minutes by default, reads all banks: some "
        "microseconds; after a corrected error the kernel polls up to a hundred times a second",
        source="arch/x86/x86_64/machinecheck.rst; tuned realtime",
    ),
    file_check(
        "R21",
        "search for hung tasks",
        "Hung tasks are searched for too often",
        NOTE,
        f"{_KERNEL}/hung_task_timeout_secs",
        lambda text: int(text) == 0 or int(text) >= 600,
        "600 s or more, or 0 (off)",
        roles=EVERYWHERE,
        put="600",
        boot_with=(Sysctl("kernel.hung_task_timeout_secs", "600"),),
        cost="a task that hangs is reported after ten minutes",
        why="khungtaskd wakes up at this interval and walks through all tasks: microseconds to "
        "some hundred, on a housekeeping core unless it was left on a poll core",
        source="sysctl/kernel.rst; tuned network-latency; OpenShift node tuning operator (600)",
    ),
)
