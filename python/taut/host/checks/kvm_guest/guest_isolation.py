"""G04: whether the guest itself leaves its poll cores alone."""

import re
from collections.abc import Sequence

from taut.core.cpus import CpuSet, cores_in, format_cpu_list, parse_cpu_mask
from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Rollback,
    Severity,
    failed,
    passed,
    unknown,
)
from taut.host.checks._isolated import BOOT, isolated
from taut.host.checks.kvm_guest._shape import dmesg, not_a_guest
from taut.host.host import Host
from taut.host.situation import Situation

_CPU = "/sys/devices/system/cpu"
_NOHZ_FULL = f"{_CPU}/nohz_full"
_IRQS = "/proc/irq/default_smp_affinity"
_CMDLINE = "/proc/cmdline"
_WANTED = "poll cores isolated, without tick, RCU callbacks and new interrupts"
_OFFLOADED = re.compile(r"Offload RCU callbacks from CPUs: ([0-9,-]+)")
_NOCBS = re.compile(r"(?<!\S)rcu_nocbs=([0-9,-]+)")


class _GuestIsolation(Check):
    id = "G04"
    title = "isolation inside the guest"
    fault = "Cores are not isolated inside the guest"
    severity = Severity.CRITICAL
    why = (
        "a neighbour on the same virtual core costs a time slice (4 ms), and each tick of the "
        "guest several exits; nohz_full in a guest took the tail to less than a quarter"
    )
    source = "Gallenmueller et al., Ducked Tails (2021); measured on the development machine"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the poll cores with the sets in force (K04, K06, K08, K12)."""
        if (finding := not_a_guest(situation)) is not None:
            return finding
        alone = _isolated(host)
        if alone is None:
            return unknown("isolated cores are not shown", f"a readable {BOOT}", _WANTED)
        nohz = host.read(_NOHZ_FULL)
        if nohz is not None and cores_in(nohz) is None:
            return unknown(
                f"{_NOHZ_FULL}: {nohz[:60]!r}", "a kernel whose format taut knows", _WANTED
            )
        if not situation.cores and alone:
            return unknown(
                f"isolated: {format_cpu_list(alone)}",
                "name the poll cores with --cores",
                _WANTED,
            )
        problems = _problems(host, situation, alone)
        if problems:
            return failed("; ".join(problems), _WANTED, situation.cores)
        return passed(
            f"cores {format_cpu_list(situation.cores)}: {_WANTED}", _WANTED, situation.cores
        )

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """At boot; what can be done now is K04's."""
        if not situation.cores:
            return (
                Remedy(
                    "G04-by-hand",
                    "choose the poll cores",
                    by_hand="name them: taut host plan --cores LIST",
                ),
            )
        found = []
        if situation.polls and not host.is_there(_NOHZ_FULL):
            found.append(
                Remedy(
                    "G04-by-hand",
                    "run a kernel that can stop the tick",
                    by_hand="in the guest: install a kernel built with NO_HZ_FULL, as Debian's is",
                )
            )
        boot = _boot_items(host, situation)
        if boot:
            found.append(
                Remedy(
                    "G04-boot",
                    "isolate the poll cores inside the guest",
                    boot=boot,
                    profile=Profile.MINIMAL,
                    cost="these cores run only what is placed there",
                    rollback=Rollback.REBOOT,
                )
            )
        return tuple(found)


def _boot_items(host: Host, situation: Situation) -> list[KernelParameter]:
    """What is not in force; a parameter the kernel was not built for would be inert."""
    cores = set(situation.cores)
    found = []
    if not cores <= set(_isolated(host) or ()):
        flags = ("domain", "managed_irq")
        found.append(KernelParameter("isolcpus", flags=flags, cores=situation.cores))
    has_nohz = situation.polls and host.is_there(_NOHZ_FULL)
    if has_nohz and not cores <= set(cores_in(host.read(_NOHZ_FULL)) or ()):
        found.append(KernelParameter("nohz_full", cores=situation.cores))
    if not cores <= set(_without_callbacks(host)):
        found.append(KernelParameter("rcu_nocbs", cores=situation.cores))
    if situation.housekeeping and cores & set(_default_irq_cores(host)):
        found.append(KernelParameter("irqaffinity", cores=situation.housekeeping))
    return found


def _isolated(host: Host) -> CpuSet | None:
    found = isolated(host)
    return found.cores if found else None


def _problems(host: Host, situation: Situation, alone: CpuSet) -> list[str]:
    """Say what does not hold; without named cores, what can hold for none.

    The tick is asked about where something polls: that of a core that sleeps stops by itself.
    """
    cores = situation.cores
    if not cores:
        return ["no core is isolated"]
    nohz = cores_in(host.read(_NOHZ_FULL))
    missing = {
        "not isolated": alone,
        "with tick (not in nohz_full)": nohz or (),
        "with RCU callbacks": _without_callbacks(host),
    }
    if not situation.polls:
        del missing["with tick (not in nohz_full)"]
    found = [
        f"{format_cpu_list(set(cores) - set(held))} {what}"
        for what, held in missing.items()
        if not set(cores) <= set(held)
    ]
    if situation.polls and not host.is_there(_NOHZ_FULL):
        found.append("kernel without NO_HZ_FULL")
    reached = sorted(set(cores) & set(_default_irq_cores(host)))
    if reached:
        found.append(f"{format_cpu_list(reached)} in the mask of new interrupts")
    return found


def _without_callbacks(host: Host) -> CpuSet:
    """Cores whose RCU callbacks run elsewhere: as the kernel said, else as it was asked for.

    The threads that do it prove nothing: they exist for every core once one is offloaded.
    """
    for line in dmesg(host):
        said = _OFFLOADED.search(line)
        if said is not None and cores_in(said[1]):
            return cores_in(said[1]) or ()
    asked = _NOCBS.search(host.read(_CMDLINE) or "")
    nocbs = cores_in(asked[1]) if asked is not None else ()
    # nohz_full implies it.
    return tuple(sorted({*(nocbs or ()), *(cores_in(host.read(_NOHZ_FULL)) or ())}))


def _default_irq_cores(host: Host) -> CpuSet:
    try:
        return parse_cpu_mask(host.read(_IRQS) or "0")
    except ValueError:
        return ()


CHECK = _GuestIsolation()
