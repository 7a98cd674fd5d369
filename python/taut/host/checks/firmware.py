"""Checks of firmware: what it does behind the kernel's back."""

import re
from collections.abc import Iterable, Mapping

from taut.core.cpus import CpuSet
from taut.host.boot.item import UnitState
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import log_lines
from taut.host.checks._platform import count, hidden, need_platform
from taut.host.checks._units import starts_at_boot
from taut.host.setting import Change
from taut.host.settings.systemd_unit import SystemdUnit
from taut.host.situation import Role
from taut.host.table import (
    BARE,
    CRITICAL,
    EVERYWHERE,
    EXTREME,
    MAJOR,
    MINOR,
    WITH_CONTAINERS,
    Check,
    boot,
    by_hand,
    now,
)
from taut.host.view import CPU, NEW_FORMAT, WATCH, View

_SMIS = ("perf", "stat", "-a", "-x,", "-e", "msr/smi/", "sleep", "60")
_UNITS = (
    "fwupd-refresh.timer",
    "fwupd.service",
    "smartd.service",
    "ipmievd.service",
    "amsd.service",  # HPE's agent
    "dsm_sa_datamgrd.service",  # Dell's agent
)
_DRIVER = f"{CPU}/cpu0/cpufreq/scaling_driver"
_MAKER = "/sys/class/dmi/id/sys_vendor"
# What intel_pstate says when firmware keeps the P-states to itself.
_P_STATES = "P-states controlled by the platform"
# How a maker's own program shows the profile; the beginning of its name in the DMI table.
_PROGRAMS = {
    "Dell": "racadm get BIOS.SysProfileSettings.SysProfile",
    "HPE": "ilorest get WorkloadProfile --select Bios",
    "HP": "ilorest get WorkloadProfile --select Bios",
    "Lenovo": "onecli config show OperatingModes",
    "Supermicro": "sum -c GetCurrentBiosCfg",
}
_CLASSES = "/sys/bus/pci/devices/*/class"
_USB_CLASS = "0x0c03"
# Of EHCI, OHCI, UHCI and xHCI: firmware did not let go of the controller (drivers/usb/host).
_USB_KEPT = "BIOS handoff failed"
_RATES = "/sys/devices/system/edac/mc/mc*/sdram_scrub_rate"
# What the kernel says when firmware keeps corrected errors to itself (APEI, HEST table).
_FIRMWARE_FIRST = "Enabling Firmware First mode for corrected errors"
_THROTTLED = tuple(
    f"{CPU}/cpu*/thermal_throttle/{part}_throttle_count" for part in ("core", "package")
)
_CORE = re.compile(r"/cpu([0-9]+)/thermal_throttle/(core|package)_throttle_count")


def smi_rate(see: View) -> Finding:
    """Judge a count somebody took; the audit takes none.

    Counting interrupts every core, and SMIs come minutes apart: a second proves nothing.
    """
    if see.machine.vendor == "arm":
        see.skip("ARM has no SMI; firmware there runs in EL3")
    if see.is_guest:
        hidden(see, "SMI counter")
    if see.role is Role.CONTAINER:
        needs = "run taut host audit on the host"
        see.cannot_tell("SMI counter: not visible in a container", needs)
    if see.machine.vendor == "amd":
        needs = "count them before and after a test, never during: perf stat -a -e ls_smi_rx"
        see.cannot_tell("SMIs were not counted", f"{needs} sleep 60")
    counted = _smis(see)
    if counted is None:
        needs = (
            "an audit counts none: count them yourself, over an hour while nothing is measured: "
            f"{' '.join(_SMIS)} (or turbostat, column SMI); any at all are too many"
        )
        see.cannot_tell("SMIs were not counted: reading the counters interrupts every core", needs)
    return see.good_if(counted == 0, f"{counted} SMIs in a minute, summed over all cores")


def _smis(see: View) -> int | None:
    """Give the sum over all cores that a copied machine brought with it."""
    if see.host.is_live:
        return None
    for line in (see.command(*_SMIS) or "").splitlines():
        value, _, rest = line.partition(",")
        if "msr/smi/" in rest and value.isdecimal():
            return int(value)
    return None


def daemons(see: View) -> Finding:
    """Ask systemd which of them are active."""
    why = "firmware is the host's: nothing in a guest reaches it"
    need_platform(see, why, BARE | {Role.HOUSEKEEPING})
    if all(SystemdUnit(unit).read(see.host) is None for unit in _UNITS):
        needs = "systemd; without it look for fwupd, smartd and ipmievd among the processes"
        see.cannot_tell("systemd does not answer", needs)
    if running := _running(see):
        return see.failed(f"active: {' '.join(running)}")
    return see.passed(f"none active of {' '.join(_UNITS)}")


def stop_daemons(see: View) -> Iterable[Remedy]:
    """Stop them, and keep them from starting at boot."""
    running = _running(see)
    cost = "no notices of firmware updates, failing disks or hardware events meanwhile"
    if running:
        stops = [Change(SystemdUnit(unit), "inactive") for unit in running]
        yield now(f"stop {' '.join(running)}", *stops, cost=cost)
    if coming := [unit for unit in _UNITS if unit in running or starts_at_boot(see, unit)]:
        disabled = [UnitState(unit, is_enabled=False) for unit in coming]
        yield boot(f"do not start {' '.join(coming)} at boot", *disabled, cost=cost)


def _running(see: View) -> list[str]:
    return [unit for unit in _UNITS if SystemdUnit(unit).read(see.host) == "active"]


def power_profile(see: View) -> Finding:
    """Look for signs that firmware is in control; that it is not leaves none."""
    need_platform(see)
    driver = see.read(_DRIVER)
    if driver in ("pcc-cpufreq", "pcc_cpufreq"):
        return see.failed(f"frequency driver {driver}: firmware sets the frequency")
    if any(_P_STATES in line for line in log_lines(see)):
        return see.failed(f"kernel: {_P_STATES}")
    maker = see.read(_MAKER) or ""
    program = next((text for name, text in _PROGRAMS.items() if maker.startswith(name)), "")
    return see.unknown(
        f"frequency driver {driver or 'none'}; the BIOS of {maker or 'this machine'} does not "
        "tell its profile",
        program or "look in the BIOS, or ask the maker's configuration program",
    )


def legacy_usb(see: View) -> Finding:
    """Look for controllers, and for one that firmware did not hand over."""
    need_platform(see)
    if not see.machine.is_x86:
        see.skip("only x86 firmware emulates PS/2")
    for line in log_lines(see):
        if _USB_KEPT in line:
            return see.failed(f"kernel: {line}")
    classes = [see.read(path) or "" for path in see.paths(_CLASSES)]
    if not classes:
        see.cannot_tell("no PCI devices visible", "a mounted /sys")
    controllers = sum(kind.startswith(_USB_CLASS) for kind in classes)
    if controllers == 0:
        return see.passed("no USB controller")
    return see.unknown(
        f"{controllers} USB controllers, handed over by firmware as far as the kernel says",
        "look in the BIOS; indirectly: count SMIs (HW04)",
    )


def patrol_scrub(see: View) -> Finding:
    """Read the rates, and what firmware keeps to itself.

    Nothing is written: which rate is lowest no driver tells, and some take it for "off".
    amd64_edac offers 761 B/s to everybody, and switches scrubbing off on Zen when that is asked
    for: its registers hold only the faster half of the table (__f17h_set_scrubval; in kernels
    until early 2023, 6.1 among them). Errors would then be found too late to correct.
    """
    need_platform(see)
    if any(_FIRMWARE_FIRST in line for line in log_lines(see)):
        return see.failed(f"kernel: {_FIRMWARE_FIRST}")
    rates = {path: count(see.read(path)) for path in see.paths(_RATES)}
    if not rates or None in rates.values():
        needs = "look in the BIOS: patrol scrub; or load the EDAC driver of this processor"
        see.cannot_tell("no scrub rate: the memory controller's driver gives none", needs)
    observed = ", ".join(f"{path.split('/')[-2]} {rate} B/s" for path, rate in rates.items())
    if any(rates.values()):
        needs = "the data sheet: the lowest rate this controller takes"
        see.cannot_tell(observed, needs)
    return see.passed(f"{observed}: scrubbing is off")


def throttling(see: View) -> Finding:
    """Compare the counts; none since boot is none in any interval."""
    need_platform(see)
    paths = [path for pattern in _THROTTLED for path in see.paths(pattern)]
    counts = _counts(see, {path: see.read(path) or "" for path in paths})
    if not counts:
        see.skip("no thermal_throttle: only Intel processors count it")
    if None in counts.values():
        see.cannot_tell("counts of throttling", NEW_FORMAT)
    after = _counts(see, see.watched.after)
    rises = {
        path: (after[path] or 0) - (value or 0)
        for path, value in _counts(see, see.watched.before).items()
        if path in after
    }
    hit = {core for path, rise in rises.items() if rise > 0 for core in _cores(path)}
    if hit:
        observed = f"throttled {sum(rises.values())} times in {see.watched.seconds:.0f} s"
        return see.failed(observed, tuple(sorted(hit)))
    total = sum(value or 0 for value in counts.values())
    if rises:
        return see.passed(f"not throttled while watched; {total} times since boot")
    if total == 0:
        return see.passed("not throttled since boot")
    return see.unknown(f"throttled {total} times since boot", WATCH)


def _counts(see: View, texts: Mapping[str, str]) -> dict[str, int | None]:
    """By path, of the cores that poll; of all where nobody named any."""
    return {
        path: count(text)
        for path, text in texts.items()
        if any(core in see.judged for core in _cores(path))
    }


def _cores(path: str) -> CpuSet:
    found = _CORE.search(path)
    return (int(found[1]),) if found else ()


CHECKS = (
    Check(
        "HW04",
        "system management interrupts",
        "Firmware interrupts the cores (SMI)",
        CRITICAL,
        smi_rate,
        "none during a test",
        roles=WITH_CONTAINERS,
        remedies=by_hand(
            "find and switch off what raises SMIs",
            "stop HW05's daemons, count again; then in the BIOS: power profile at maximum "
            "performance with C- and P-states left to the OS, legacy USB off, error logging "
            "left to the OS, the vendor's guide for low latency",
        ),
        why="an SMI stops all cores and nothing can mask it: 10 to 15 µs are usual, more than "
        "100 µs are bad, 100 ms have been seen",
        source="Intel NFV-I host configuration (2018); Linux Foundation wiki on SMIs",
    ),
    Check(
        "HW05",
        "daemons that call firmware",
        "Daemons that call firmware are running",
        MAJOR,
        daemons,
        "stopped while packets are served",
        roles=EVERYWHERE,
        remedies=stop_daemons,
        why="fwupd-refresh was seen to raise SMIs on all cores, isolated ones too; agents that "
        "poll firmware, disks or the management controller do likewise",
        source="OpenShift node tuning operator, PR 1591 (2026)",
    ),
    Check(
        "HW06",
        "power profile of the BIOS",
        "Firmware controls power states",
        MAJOR,
        power_profile,
        "maximum performance, with C- and P-states left to the OS",
        roles=EVERYWHERE,
        remedies=by_hand(
            "leave power management to the OS",
            "in the BIOS: power profile at maximum performance, P- and C-states under OS "
            "control, collaborative power control (PCC) off",
            cost="power and heat",
        ),
        why="firmware that controls C- or P-states itself does so in periodic SMIs, on all cores",
        source="Intel NFV-I host configuration (2018); rigtorp.se low latency guide",
    ),
    Check(
        "HW07",
        "legacy USB emulation",
        "The BIOS did not hand over a USB controller",
        MAJOR,
        legacy_usb,
        "legacy USB and port 60/64 emulation off",
        roles=EVERYWHERE,
        remedies=by_hand(
            "switch legacy USB off",
            "in the BIOS: legacy USB support and port 60/64 emulation off",
            cost="on some boards no keyboard before the kernel runs",
        ),
        why="firmware that emulates a PS/2 keyboard takes an SMI for USB events and port accesses",
        source="Intel NFV-I host configuration (2018)",
    ),
    Check(
        "HW08",
        "patrol scrub and error logging",
        "Corrected memory errors go to firmware first",
        MINOR,
        patrol_scrub,
        "the lowest scrub rate; corrected errors logged by the kernel, not by SMI",
        roles=EVERYWHERE,
        remedies=by_hand(
            "leave error logging to the kernel",
            "in the BIOS: firmware-first (WHEA, EMCA) logging of corrected errors off, patrol "
            "scrub at its lowest rate; uncorrected errors must stay visible",
            profile=EXTREME,
            risk="errors are found later, when they may no longer be correctable",
        ),
        why="scrubbing takes memory bandwidth periodically; with firmware-first logging every "
        "corrected memory error costs an SMI",
        source="Intel NFV-I host configuration (2018)",
    ),
    Check(
        "HW13",
        "thermal throttling",
        "Cores were throttled for heat",
        MAJOR,
        throttling,
        "no throttling",
        roles=EVERYWHERE,
        watches=_THROTTLED,
        remedies=by_hand(
            "cool the machine, or ask less of it",
            "check fans, filters and air flow; or lower scaling_max_freq to what the machine "
            "holds under full load",
        ),
        why="a core that is too hot runs slower, and takes an interrupt each time that changes",
        source="kernel documentation of thermal_throttle; general knowledge, not verified",
    ),
)
