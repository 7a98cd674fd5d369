"""Checks of KVM hosts: parameters of its modules, and what makes guests exit."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from taut.host.boot.item import KernelParameter, ModuleOption
from taut.host.check import Finding, Remedy, Severity, State, unreadable
from taut.host.table import KVM_HOSTS, MAJOR, MINOR, REBOOT, Check, boot, by_hand, now, write
from taut.host.view import NEW_FORMAT, View

_SWITCH = ("Y", "N")
"""How the kernel shows a switch that is not a number."""
# KVM's own default on x86 (HALT_POLL_NS).
_LEAST_NS = 200_000
_BUG = "/sys/devices/system/cpu/vulnerabilities/itlb_multihit"


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a module, and the wanted value."""

    module: str
    option: str
    good: tuple[str, ...]
    """The texts that pass."""
    value: str
    """The value that the remedy sets."""

    @property
    def path(self) -> str:
        return f"/sys/module/{self.module}/parameters/{self.option}"

    @property
    def wanted(self) -> str:
        return f"{self.option} = {self.value}"

    @property
    def at_start(self) -> ModuleOption:
        """Its line in modprobe.d."""
        return ModuleOption(self.module, self.option, self.value)


_SPIN = (
    _Parameter("kvm_intel", "ple_gap", ("0",), "0"),
    _Parameter("kvm_amd", "pause_filter_count", ("0",), "0"),
)
_SYNC = (_Parameter("kvm", "kvmclock_periodic_sync", ("N", "0"), "0"),)
_SPLIT = _Parameter("kvm", "nx_huge_pages", ("N", "0", "never"), "N")
_HALT = _Parameter("kvm", "halt_poll_ns", (), str(_LEAST_NS))
_AVIC = _Parameter("kvm_amd", "avic", ("Y", "1"), "1")
_CONTROLLERS = (_Parameter("kvm_intel", "enable_apicv", ("Y", "1"), "1"), _AVIC)
# AMD's Zen 1 and 2, and Hygon's.
_ERRATUM_1235 = (0x17, 0x18)
_WITHOUT_IPIS = "/sys/module/kvm_amd/parameters/enable_ipiv"
"""Of kernels that leave IPIs out of AVIC where the processor has the erratum: AMD's (2025)."""
_HYGONS = (0x18, (7, 1))
"""Hygon's family, and from which kernel on its IPIs are left out, too (2026)."""
# -1: where the host has nohz_full cores; what KVM made of it shows once it is loaded.
_TIMERS = _Parameter("kvm", "pi_inject_timer", ("Y", "1"), "1")


def _judge(see: View, parameter: _Parameter) -> Finding:
    """Compare one parameter; what is neither a number nor a switch is unknown."""
    path, wanted = parameter.path, parameter.wanted
    text = see.read(path)
    if text is None:
        return unreadable(see.host, path, wanted)
    if text not in (*_SWITCH, *parameter.good) and not text.removeprefix("-").isdecimal():
        return see.unknown(f"{path}: {text[:60]!r}", NEW_FORMAT, wanted)
    observed = f"{path} = {text}"
    if text in parameter.good:
        return see.passed(observed, wanted=wanted)
    return see.failed(observed, wanted=wanted)


def _loaded(see: View, parameters: tuple[_Parameter, ...]) -> list[_Parameter]:
    return [each for each in parameters if see.is_there(f"/sys/module/{each.module}")]


def _module_check(
    id: str,  # noqa: A002 - as in Check
    title: str,
    fault: str,
    severity: Severity,
    parameters: tuple[_Parameter, ...],
    *,
    why: str,
    source: str,
    risk: str = "",
) -> Check:
    """Give the row of one parameter, of the first of these modules that is loaded.

    Only loading sets it: that ends every guest, so taut does not.
    """

    def judge(see: View) -> Finding:
        loaded = _loaded(see, parameters)
        if not loaded:
            see.skip(f"{' and '.join(each.module for each in parameters)} not loaded")
        return _judge(see, loaded[0])

    def remedies(see: View) -> Iterable[Remedy]:
        for each in _loaded(see, parameters)[:1]:
            what = f"load with {each.module}.{each.wanted}"
            yield boot(what, each.at_start, rollback=REBOOT, risk=risk)
            yield by_hand(
                f"reload {each.module} before the next boot",
                f"with no guest running: modprobe -r {each.module}; modprobe"
                f" {each.module} {each.option}={each.value}",
                rollback=REBOOT,
                risk=risk,
            )

    return Check(
        id,
        title,
        fault,
        severity,
        judge,
        roles=KVM_HOSTS,
        remedies=remedies,
        why=why,
        source=source,
    )


def split_pages(see: View) -> Finding:
    """A mitigation of ITLB_MULTIHIT: off is wanted only where the processor has no such bug."""
    if not see.is_there(_SPLIT.path):
        see.odd(_SPLIT.path)
    if see.read(_SPLIT.path) in _SPLIT.good:
        return _judge(see, _SPLIT)
    bug = see.read(_BUG)
    if bug is None or not bug.startswith(("Not affected", "KVM:", "Processor vulnerable")):
        said = "absent" if bug is None else repr(bug[:60])
        return see.unknown(f"{_BUG}: {said}", "whether the processor has ITLB_MULTIHIT", "off")
    if bug != "Not affected":
        see.skip(f"the processor has ITLB_MULTIHIT ({bug}): the mitigation stays")
    return _judge(see, _SPLIT)


def keep_pages(see: View) -> Iterable[Remedy]:
    """Only where nothing is lost by it."""
    if see.read(_BUG) == "Not affected":
        summary = f"write {_SPLIT.value} to {_SPLIT.path}"
        yield now(summary, write(_SPLIT.path, _SPLIT.value, "text"))
        parameter = KernelParameter("kvm.nx_huge_pages", "off")
        yield boot("boot with kvm.nx_huge_pages=off", parameter, rollback=REBOOT)


def halt_polling(see: View) -> Finding:
    """The kernel's default is enough. For guests that sleep; one that polls never halts."""
    text = see.text(_HALT.path)
    if not text.isdecimal():
        see.odd(_HALT.path)
    observed = f"{_HALT.path} = {text}"
    if int(text) >= _LEAST_NS:
        return see.passed(observed)
    return replace(see.failed(observed), severity=MAJOR if see.situation.sleeps else MINOR)


def exitless(see: View) -> Finding:
    """APICv or AVIC, and timers that a housekeeping core injects (posted interrupts)."""
    parameters = _exitless(see)
    if not parameters:
        see.skip("neither kvm_intel nor kvm_amd is loaded")
    findings = [_judge(see, each) for each in parameters]
    for each in findings:
        if each.state not in (State.PASS, State.FAIL):
            return each
    observed = ", ".join(each.observed for each in findings)
    wanted = ", ".join(each.wanted for each in findings)
    if all(each.state is State.PASS for each in findings):
        return see.passed(observed, wanted=wanted)
    return see.failed(observed, wanted=wanted)


def load_exitless(see: View) -> Iterable[Remedy]:
    """The controller by loading its module; the timers at once."""
    parameters = _exitless(see)
    if _TIMERS in parameters and _judge(see, _TIMERS).state is not State.PASS:
        summary = f"write {_TIMERS.value} to {_TIMERS.path}"
        yield now(summary, write(_TIMERS.path, _TIMERS.value))
    loses_ipis = _AVIC in parameters and _loses_ipis(see)
    at_start = [each.at_start for each in parameters if not (loses_ipis and each == _AVIC)]
    if at_start:
        summary = "load KVM with interrupts and timers that need no exit"
        yield boot(summary, *at_start, rollback=REBOOT)
    if loses_ipis and _judge(see, _AVIC).state is not State.PASS:
        yield by_hand(
            "load kvm_amd with AVIC on a newer kernel",
            f"boot one that has {_WITHOUT_IPIS}, then taut proposes it",
            risk="on this processor (erratum 1235) and kernel a guest with AVIC may miss an IPI "
            "to a virtual CPU that goes to sleep, and hang",
            rollback=REBOOT,
        )


def _loses_ipis(see: View) -> bool:
    family, since = _HYGONS
    if see.machine.family == family and see.machine.kernel < since:
        return True
    return see.machine.family in _ERRATUM_1235 and not see.is_there(_WITHOUT_IPIS)


def _exitless(see: View) -> list[_Parameter]:
    controllers = _loaded(see, _CONTROLLERS)
    timers = [_TIMERS] if controllers and see.is_there(_TIMERS.path) else []
    return [*controllers, *timers]


CHECKS = (
    _module_check(
        "V03",
        "exits of a spinning virtual CPU",
        "A spinning virtual CPU leaves its guest",
        MAJOR,
        _SPIN,
        why="pause-loop exiting takes a poll loop with PAUSE in it for a lock and leaves the "
        "guest: an exit of microseconds every few thousand iterations",
        source="tuned realtime-virtual-host",
        risk="where virtual CPUs share cores, one that waits for a lock keeps the core from the "
        "one that holds it",
    ),
    _module_check(
        "V04",
        "periodic resynchronisation of kvm-clock",
        "kvm-clock is resynchronised every five minutes",
        MINOR,
        _SYNC,
        why="every five minutes each virtual CPU of each guest leaves the guest to take over the "
        "clock",
        source="tuned realtime-virtual-host",
    ),
    Check(
        "V05",
        "huge pages split for a processor bug",
        "KVM splits huge pages",
        MAJOR,
        split_pages,
        roles=KVM_HOSTS,
        remedies=keep_pages,
        why="with the mitigation on, KVM splits huge pages at their first instruction fetch and a "
        "thread puts them together again: guest memory is unmapped and faults anew",
        source="tuned realtime-virtual-host; kernel-parameters.txt (kvm.nx_huge_pages)",
    ),
    Check(
        "V06",
        "polling for a halted virtual CPU",
        "A halted virtual CPU is not polled for",
        MAJOR,
        halt_polling,
        f"{_LEAST_NS} ns or more, for guests that halt",
        roles=KVM_HOSTS,
        remedies=(
            now(
                f"write {_HALT.value} to {_HALT.path}",
                write(_HALT.path, _HALT.value),
                cost="power: the host spins after each halt",
            ),
            boot(f"load kvm with halt_poll_ns={_LEAST_NS}", _HALT.at_start, rollback=REBOOT),
        ),
        why="without it the host schedules away at every halt of the guest, and a packet's "
        "interrupt pays tens of microseconds to bring the virtual CPU back; a guest that polls "
        "never halts",
        source="halt-polling.rst",
    ),
    Check(
        "V08",
        "interrupts without exits",
        "Interrupts make virtual CPUs leave their guest",
        MAJOR,
        exitless,
        roles=KVM_HOSTS,
        remedies=load_exitless,
        why="without APICv or AVIC every interrupt, IPI and timer of a guest is an exit of "
        "microseconds, and its timers fire on the core that runs it",
        source="Linux, arch/x86/kvm; general knowledge",
    ),
)
