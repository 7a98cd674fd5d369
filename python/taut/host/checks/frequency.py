"""Checks of frequencies of cores and caches, and who chooses them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.boot.item import KernelParameter, SysfsValue
from taut.host.check import Finding, Remedy
from taut.host.checks._latency import held_us, need_limit, only_polls
from taut.host.checks._platform import count, hidden, need_platform
from taut.host.situation import Role
from taut.host.table import (
    EVERYWHERE,
    EXTREME,
    MAJOR,
    MINOR,
    REBOOT,
    WITH_CONTAINERS,
    Check,
    boot,
    now,
    on_the_host,
    write,
)
from taut.host.threads import some
from taut.host.view import CPU, NEW_FORMAT, View

_TURBO_OFF = {f"{CPU}/intel_pstate/no_turbo": "1", f"{CPU}/cpufreq/boost": "0"}
"""The switches of turbo, and what each says when turbo is off."""
_TURBO_FLAGS = {"ida", "cpb"}
"""Flags (Intel's, AMD's) of a processor that has turbo, not switched off by the BIOS."""
_UNCORE = f"{CPU}/intel_uncore_frequency"
_INTEL = f"{CPU}/intel_pstate/status"
_AMD = f"{CPU}/amd_pstate/status"
# What the kernel calls generations up to Skylake and its descendants (perf's names).
_OLD_NAMES = ("sandybridge", "ivybridge", "haswell", "broadwell", "skylake")
# Their models of family 6 (arch/x86/include/asm/intel-family.h), for guests without a PMU.
_OLD_MODELS = frozenset(
    {42, 45, 58, 62, 60, 63, 69, 70, 61, 71, 79, 86, 78, 94, 85, 142, 158, 165, 166, 102}
)
_POLICIES = f"{CPU}/cpufreq/policy*"
_GOVERNOR = "scaling_governor"
_PREFERENCE = "energy_performance_preference"
_BIAS = "energy_perf_bias"
# The first is what a remedy writes; the kernel takes words and numbers.
_GOOD = {
    _GOVERNOR: ("performance",),
    _PREFERENCE: ("performance", "0"),
    _BIAS: ("0", "performance"),
}


def turbo(see: View) -> Finding:
    """Read the switch; where it is on, look whether anything can still step."""
    if see.is_guest:
        hidden(see, "turbo")
    switch = _turbo_switch(see)
    if switch is None:
        if not see.machine.is_x86:
            see.skip("no turbo switch on this processor")
        if _TURBO_FLAGS.isdisjoint(see.machine.flags):
            see.skip("no turbo, or off in the BIOS: the processor does not name it")
        needs = "look in the BIOS, or boot with a frequency driver that has the switch"
        see.cannot_tell("the processor has turbo; the kernel has no switch for it", needs)
    value = see.choice(switch, "0", "1")
    observed = f"{switch} = {value}"
    if value == _TURBO_OFF[switch]:
        return see.passed(f"{observed}: off")
    if see.online and all(_is_steady(see, core) for core in see.online):
        if held_us(see) == 0 or all(only_polls(see, core) for core in see.online):
            return see.passed(f"{observed}: on, at one frequency, every core in C0")
        need_limit(see)
    return see.failed(f"{observed}: on, and cores change their frequency or sleep")


def _turbo_switch(see: View) -> str | None:
    return next((path for path in _TURBO_OFF if see.read(path) is not None), None)


def _is_steady(see: View, core: int) -> bool:
    """Whether a core has one frequency."""
    low_khz, high_khz = _range_khz(see, f"{CPU}/cpu{core}/cpufreq")
    return low_khz is not None and low_khz == high_khz


def end_turbo(see: View) -> Iterable[Remedy]:
    """Switch it off, where there is a switch."""
    switch = _turbo_switch(see)
    if switch is None:
        return
    off = _TURBO_OFF[switch]
    if see.role is Role.CONTAINER:
        yield on_the_host(f"{switch}: {off}")
        return
    cost = "10 to 40 % of the clock"
    measure = "tuned switches turbo on, Red Hat's NFV guide off"
    summary = f"write {off} to {switch}: turbo off"
    yield now(summary, write(switch, off), profile=EXTREME, cost=cost, measure=measure)
    value = SysfsValue(switch, off)
    yield boot("at boot: turbo off", value, profile=EXTREME, cost=cost, measure=measure)


def uncore(see: View) -> Finding:
    """Compare the limits of every part."""
    need_platform(see)
    if see.machine.vendor == "amd":
        needs = "look in the BIOS: APBDIS=1, DF C-states off"
        see.cannot_tell("the fabric's frequency: AMD has no file for it", needs)
    if see.machine.vendor != "intel":
        see.skip("no uncore frequency on this processor")
    limits = _uncore_limits(see)
    if not limits:
        modules = "intel_uncore_frequency (or intel_uncore_frequency_tpmi)"
        see.cannot_tell(f"no {_UNCORE}", f"load the module {modules}, or look in the BIOS")
    shown = ", ".join(f"{name} {low} to {high} kHz" for name, (low, high) in limits.items())
    if any(None in pair for pair in limits.values()):
        see.cannot_tell(shown, NEW_FORMAT)
    return see.good_if(all(low == high for low, high in limits.values()), shown)


def fix_uncore(see: View) -> Iterable[Remedy]:
    """Raise the lowest to the highest."""
    highest = {name: high for name, (_, high) in _uncore_limits(see).items() if high is not None}
    wanted = {f"{_UNCORE}/{name}/min_freq_khz": str(high) for name, high in highest.items()}
    low = {path: value for path, value in wanted.items() if see.read(path) != value}
    summary, cost = "keep the uncore at its highest frequency", "power, and less of it for turbo"
    if low:
        yield now(summary, *(write(path, value) for path, value in low.items()), cost=cost)
    if wanted:
        values = (SysfsValue(path, value) for path, value in wanted.items())
        yield boot(summary, *values, cost=cost)


def _uncore_limits(see: View) -> dict[str, tuple[int | None, ...]]:
    """Give by package and die, or by cluster, the lowest and the highest frequency in kHz.

    Where there are clusters (Xeon 6), what is written to a package goes to all of its own.
    """
    names = see.names(_UNCORE)
    clusters = [name for name in names if name.startswith("uncore")]
    return {
        name: tuple(count(see.read(f"{_UNCORE}/{name}/{end}_freq_khz")) for end in ("min", "max"))
        for name in clusters or names
    }


def driver(see: View) -> Finding:
    """Compare driver and mode with the generation's rule; old guides are wrong for new ones."""
    machine = see.machine
    core = (see.judged or (0,))[0]
    name = see.read(f"{CPU}/cpu{core}/cpufreq/scaling_driver")
    if not name:
        see.skip("no frequency scaling here: firmware or a host does it")
    if machine.vendor not in ("amd", "intel"):
        see.skip(f"{name}: no rule for this processor")
    is_new = _is_new(see)
    if machine.vendor == "intel" and is_new is None:
        see.cannot_tell(name, "a processor generation taut knows", "as for its generation")
    mode = see.read(_INTEL if machine.vendor == "intel" else _AMD)
    if machine.vendor == "amd":
        wanted = "amd-pstate where the processor has CPPC"
        is_good = name.startswith("amd-pstate") or "cppc" not in machine.flags
    elif is_new:
        wanted, is_good = "intel_pstate active (Ice Lake and later)", mode == "active"
    else:
        wanted, is_good = "not intel_pstate active", mode != "active"
    observed = f"{name}, mode {mode}" if mode else name
    give = see.passed if is_good else see.failed
    return give(observed, wanted=wanted)


def change_driver(see: View) -> Iterable[Remedy]:
    """Switch now where the driver can, and at boot."""
    machine = see.machine
    if see.role in (Role.KVM_GUEST, Role.CONTAINER):
        yield on_the_host("choose the frequency driver for its processor")
    elif machine.vendor == "amd":
        mode = "active" if machine.kernel >= (6, 3) else "passive"
        yield _boot_with(KernelParameter("amd_pstate", mode), "NTO uses passive as well")
    elif machine.vendor == "intel" and (is_new := _is_new(see)) is not None:
        mode, parameter = ("active", "active") if is_new else ("passive", "disable")
        measure = "" if is_new else "kernel documentation has no such rule; tuned and NTO have"
        if see.read(_INTEL) is not None:
            yield now(
                f"switch intel_pstate to {mode}",
                write(_INTEL, mode, "text"),
                profile=EXTREME,
                risk="governor and limits of the frequency start anew: set them afterwards "
                "(R16, R17)",
                measure=measure,
            )
        yield _boot_with(KernelParameter("intel_pstate", parameter), measure)


def _boot_with(item: KernelParameter, measure: str) -> Remedy:
    return boot(f"boot with {item}", item, profile=EXTREME, rollback=REBOOT, measure=measure)


def _is_new(see: View) -> bool | None:
    """Whether an Intel processor is younger than Skylake's family; None: cannot be told."""
    machine = see.machine
    for pmu in ("cpu", "cpu_core"):
        if name := see.read(f"/sys/devices/{pmu}/caps/pmu_name"):
            return name not in _OLD_NAMES
    if machine.family > 6 and machine.family != 15:
        return True
    if machine.family != 6 or machine.model == 0:
        return None
    return machine.model not in _OLD_MODELS if machine.model >= 42 else False


def _policies(see: View) -> dict[str, CpuSet]:
    """Folders of cpufreq, each of the cores whose clock it sets.

    Those of the polling cores; all where nobody named any.
    """
    found = {}
    for path in see.paths(_POLICIES):
        words = (see.read(f"{path}/affected_cpus") or "").split()
        cores = tuple(int(word) for word in words if word.isdecimal())
        if not set(see.judged).isdisjoint(cores):
            found[path] = cores
    return found


def _need_policies(see: View, what: str) -> dict[str, CpuSet]:
    """Give the folders of cpufreq; CannotJudge: the host or the firmware sets the clock."""
    found = _policies(see)
    if not found and see.paths(_POLICIES):
        see.cannot_tell(f"{what}: no policy of these cores", NEW_FORMAT)
    if not found and (see.machine.hypervisor or see.role in (Role.KVM_GUEST, Role.CONTAINER)):
        see.cannot_tell(f"{what}: not visible in here", "run on the host")
    if not found:
        see.skip("no cpufreq driver: the firmware sets the clock")
    return found


@dataclass(frozen=True)
class _Knob:
    path: str
    text: str
    cores: CpuSet

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_good(self) -> bool:
        return self.text in _GOOD[self.name]


def governor(see: View) -> Finding:
    """Judge the governor, and hints to the processor where there are any.

    Where the processor picks its clock itself (HWP), the governor alone is not enough.
    """
    _need_policies(see, "frequency governor")
    knobs = _knobs(see)
    for knob in knobs:
        if not re.fullmatch(r"[\w-]+", knob.text, re.ASCII):
            see.cannot_tell(f"{knob.path}: {knob.text[:60]!r}", NEW_FORMAT)
    if not any(knob.name == _GOVERNOR for knob in knobs):
        see.cannot_tell("no governor readable", NEW_FORMAT)
    wrong = [knob for knob in knobs if not knob.is_good]
    said = sorted({f"{knob.name} {knob.text}" for knob in wrong or knobs})
    return see.none_of({core for knob in wrong for core in knob.cores}, ", ".join(said))


def set_governor(see: View) -> Iterable[Remedy]:
    """Write what differs on the polling cores; a guest's host has to."""
    if see.role in (Role.KVM_GUEST, Role.CONTAINER):
        yield on_the_host("governor performance on the cores that poll")
        return
    ours = [knob for knob in _knobs(see) if set(knob.cores) & set(see.cores)]
    wanted = {knob.path: knob.text if knob.is_good else _GOOD[knob.name][0] for knob in ours}
    new = [write(knob.path, wanted[knob.path], "text") for knob in ours if not knob.is_good]
    summary = "governor performance on the polling cores"
    if new:
        yield now(summary, *new, cost="power")
    if wanted:
        values = [SysfsValue(path, value) for path, value in wanted.items()]
        yield boot(f"at boot: {summary}", *values, cost="power")


def _knobs(see: View) -> list[_Knob]:
    """Hints come first: under the governor performance the kernel takes no other hint (EBUSY).

    Undo goes backwards, so the old governor is back when it writes the old hint.
    """
    found: list[tuple[str, CpuSet]] = []
    for folder, cores in _policies(see).items():
        found += [(f"{CPU}/cpu{core}/power/{_BIAS}", (core,)) for core in cores]
        found += [(f"{folder}/{name}", cores) for name in (_PREFERENCE, _GOVERNOR)]
    texts = ((path, see.read(path), cores) for path, cores in found)
    return [_Knob(path, text, cores) for path, text, cores in texts if text is not None]


def frequency_range(see: View) -> Finding:
    """The lowest allowed frequency shall equal the highest."""
    bad: set[int] = set()
    said = []
    for path, cores in _need_policies(see, "frequency range").items():
        low_khz, high_khz = _range_khz(see, path)
        if low_khz is None or high_khz is None:
            see.cannot_tell(f"{path}: no range that can be read", NEW_FORMAT)
        if low_khz != high_khz:
            bad.update(cores)
        said.append(f"{low_khz}-{high_khz} kHz on core {format_cpu_list(cores)}")
    return see.none_of(bad, some(said, 3))


def raise_lowest(see: View) -> Iterable[Remedy]:
    """Raise the lowest; a guest's host has to."""
    if see.role in (Role.KVM_GUEST, Role.CONTAINER):
        yield on_the_host("scaling_min_freq = scaling_max_freq")
        return
    changes = []
    for path in _policies(see) if see.cores else ():
        low_khz, high_khz = _range_khz(see, path)
        if high_khz is not None and low_khz != high_khz:
            changes.append(write(f"{path}/scaling_min_freq", str(high_khz)))
    if changes:
        summary = "lowest frequency = highest on the polling cores"
        yield now(summary, *changes, cost="power", after=("R16-now",))


def _range_khz(see: View, folder: str) -> tuple[int | None, int | None]:
    low, high = (see.number(f"{folder}/scaling_{end}_freq") for end in ("min", "max"))
    return low, high


CHECKS = (
    Check(
        "HW09",
        "turbo",
        "Turbo changes the clock of poll cores",
        MINOR,
        turbo,
        "off, or on with one frequency and every core held in C0",
        roles=WITH_CONTAINERS,
        remedies=end_turbo,
        why="how fast turbo is depends on how many cores are awake: the frequency steps when a "
        "neighbour wakes or sleeps; without turbo the clock is 10 to 40 % slower, and constant",
        source="tuned (boost=1 since 2.27); Red Hat OpenStack NFV BIOS table (turbo off)",
    ),
    Check(
        "HW10",
        "uncore frequency",
        "The uncore frequency may change",
        MINOR,
        uncore,
        "lowest and highest frequency equal",
        roles=EVERYWHERE,
        remedies=fix_uncore,
        why="the uncore slows down when the machine is quiet and speeds up again under load: every "
        "cache miss in between takes longer, by nanoseconds to microseconds",
        source="intel_uncore_frequency_scaling.rst; AMD EPYC tuning guides; size not verified",
    ),
    Check(
        "K16",
        "frequency driver fits the processor",
        "The frequency driver does not fit the processor",
        MINOR,
        driver,
        roles=WITH_CONTAINERS,
        remedies=change_driver,
        why="from Ice Lake on the processor itself does better with intel_pstate active; "
        "intel_pstate=disable was advice for Skylake and before, whose driver added jitter",
        source="tuned (function_intel_recommended_pstate.py); NTO; kernel-parameters.txt",
    ),
    Check(
        "R16",
        "frequency governor",
        "The governor does not hold the clock at its highest",
        MAJOR,
        governor,
        "governor performance, energy preference performance, energy bias 0",
        roles=WITH_CONTAINERS,
        remedies=set_governor,
        why="a clock that rises with load is low when a burst comes: the first packets take "
        "longer, and each step stops the core for microseconds",
        source="tuned; cpu-isolation.rst",
    ),
    Check(
        "R17",
        "frequency range",
        "The frequency may change",
        MINOR,
        frequency_range,
        "lowest = highest frequency",
        roles=WITH_CONTAINERS,
        remedies=raise_lowest,
        why="each step of the clock stops the core for microseconds and changes every service time",
        source="OpenShift node tuning operator (hardware tuning); rt-conf",
    ),
)
