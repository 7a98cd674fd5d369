"""V11: the host's side of the cores that run virtual CPUs."""

from collections.abc import Sequence

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.kvm_host._shape import guest_cores, guests, not_a_host
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import core_set

_CPU = "/sys/devices/system/cpu"
_WANTED = "isolated, without a tick, and no device interrupt"
_ISOLATED = (f"{_CPU}/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated")
# Delivered by the processor itself, not by a device: the timer of the first core, the cascade.
_NO_DEVICE = ("0", "2")


class HostCores(Check):
    """The values that decide; what else is wanted of a poll core are the rows of its role."""

    id = "V11"
    title = "host side of the guest's cores"
    fault = "The guest's cores are not quiet on the host"
    severity = Severity.CRITICAL
    why = (
        "a guest can only be as quiet as its host: each tick, interrupt or thread of the host on "
        "the core is an exit, tens of microseconds as the guest sees it"
    )
    source = "Gallenmueller et al., Ducked Tails (2021), fig. 1"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """The named cores, else those that virtual CPUs are pinned to."""
        if finding := not_a_host(situation):
            return finding
        cores = situation.cores or guest_cores(guests(host))
        if not cores:
            needs = "name the cores that run virtual CPUs with --cores, or pin a guest (V01)"
            return unknown("no core is pinned to a virtual CPU", needs, _WANTED)
        if host.read(f"{_CPU}/online") is None:
            return unknown(f"no {_CPU}/online", "a mounted /sys", _WANTED)
        isolated = {core for path in _ISOLATED for core in _cores(host, path)}
        bad = {
            "not isolated (K04)": set(cores) - isolated,
            "with a tick (K06)": set(cores) - set(_cores(host, f"{_CPU}/nohz_full")),
            "with device interrupts (R02)": set(cores) & _interrupted(host),
        }
        wrong = [f"{format_cpu_list(them)} {what}" for what, them in bad.items() if them]
        if wrong:
            hit = tuple(sorted(set().union(*bad.values())))
            return failed(f"cores {'; '.join(wrong)}", _WANTED, hit)
        return passed(f"cores {format_cpu_list(cores)}: {_WANTED}", _WANTED, cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Are those of the rows it stands for."""
        return (
            Remedy(
                f"{self.id}-by-hand",
                "take the remedies of K04, K06 and R02",
                by_hand="on this host: taut host plan --role kvm-host --cores LIST has them",
            ),
        )


def _cores(host: Host, path: str) -> CpuSet:
    """Give the cores of a list; what is none isolates nothing."""
    text = host.read(path)
    # A longer number is no core, and its range would fill the memory.
    if text is None or any(len(part) > 5 for part in text.replace("-", ",").split(",")):
        return ()
    return core_set(text) or ()


def _interrupted(host: Host) -> set[int]:
    """Cores that a device's interrupt is delivered to."""
    found: set[int] = set()
    for number in host.names("/proc/irq"):
        if not number.isdecimal() or number in _NO_DEVICE or not _has_action(host, number):
            continue
        found.update(_cores(host, f"/proc/irq/{number}/effective_affinity_list"))
    return found


def _has_action(host: Host, number: str) -> bool:
    actions = host.read(f"/sys/kernel/irq/{number}/actions")
    if actions is not None:
        return bool(actions)
    # Kernels without that file show each action as a folder.
    folder = f"/proc/irq/{number}"
    return any(host.read(f"{folder}/{name}") is None for name in host.names(folder))


CHECK = HostCores()
