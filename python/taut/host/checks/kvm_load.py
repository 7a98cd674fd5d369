"""Checks of KVM hosts: how often guests exit, and what else runs on their cores."""

from collections import Counter
from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.check import Finding
from taut.host.checks._guests import guest_cores
from taut.host.checks._interrupts import USER_SPACE, device_interrupts
from taut.host.guests import guests
from taut.host.isolated import isolated
from taut.host.situation import TraceEvent
from taut.host.table import CRITICAL, KVM_HOSTS, MAJOR, Check, by_hand
from taut.host.threads import some
from taut.host.view import CPU, NOHZ_FULL, View

# Delivered by the processor itself, not by a device: the timer of the first core, the cascade.
_NO_DEVICE = (0, 2)
_COUNTERS = "/sys/kernel/debug/kvm"
# About none: a guest without ticks is left alone for seconds; one with a tick exits 250 times.
_MOST_PER_S = 10.0


def host_cores(see: View) -> Finding:
    """The named cores, else those that virtual CPUs are pinned to.

    These values decide; what else is wanted of a poll core are the rows of its role.
    """
    cores = see.cores or guest_cores(guests(see.host))
    if not cores:
        needs = "name the cores that run virtual CPUs with --cores, or pin a guest (V01)"
        see.cannot_tell("no core is pinned to a virtual CPU", needs)
    if see.read(f"{CPU}/online") is None:
        see.cannot_tell(f"no {CPU}/online", "a mounted /sys")
    found = isolated(see.host)
    bad = {
        "not isolated (K04)": set(cores) - set(found.cores if found else ()),
        "with a tick (K06)": set(cores) - set(see.list_of_cores(NOHZ_FULL) or ()),
        "with device interrupts (R02)": set(cores) & _interrupted(see),
    }
    if wrong := [f"{format_cpu_list(them)} {what}" for what, them in bad.items() if them]:
        return see.failed(f"cores {'; '.join(wrong)}", tuple(sorted(set().union(*bad.values()))))
    return see.passed(f"cores {format_cpu_list(cores)}: {see.wanted}", cores)


def _interrupted(see: View) -> set[int]:
    """Cores that a device's interrupt is delivered to, which R02 would move."""
    return {
        core
        for irq in device_interrupts(see)
        if irq.number not in _NO_DEVICE
        and not irq.is_leaving
        and not irq.action.startswith(USER_SPACE)
        for core in irq.cores or ()
    }


def exits(see: View) -> Finding:
    """By the kernel's events on the cores where there are some, else by KVM's counters."""
    events, seconds = see.situation.events, see.watched.seconds
    if events is not None and see.cores and seconds > 0:
        return _of_events(see, [event for event in events if event.name == "kvm_exit"])
    rates = _rates(see)
    if not rates:
        if see.host.is_denied("/sys/kernel/debug"):
            see.cannot_tell("/sys/kernel/debug: permission denied", "run as root")
        needs = "a running guest, and watching a while: --watch 5s (on its cores: --trace)"
        see.cannot_tell("no exits were counted", needs)
    observed = some([f"guest {name}: {rate:.0f} exits/s" for name, rate in rates.items()])
    if max(rates.values()) <= _MOST_PER_S:
        return see.passed(observed)
    if not see.cores:
        return see.failed(observed)
    # The counter is of all virtual CPUs of a guest; some of them may be meant to idle.
    return see.unknown(observed, "which core exits: --trace")


def _of_events(see: View, seen: Sequence[TraceEvent]) -> Finding:
    here = [event for event in seen if event.core in see.cores]
    per_core = Counter(event.core for event in here)
    rates = {core: count / see.watched.seconds for core, count in per_core.items()}
    bad = tuple(sorted(core for core, rate in rates.items() if rate > _MOST_PER_S))
    shown = some([f"core {core}: {rates.get(core, 0.0):.0f} exits/s" for core in see.cores])
    if not bad:
        return see.passed(shown, see.cores)
    reasons = Counter(_reason(event) for event in here)
    most = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common(3))
    return see.failed(f"{shown} ({most})", bad)


def _reason(event: TraceEvent) -> str:
    words = event.fields.split()
    if "reason" in words[:-1]:
        return words[words.index("reason") + 1]
    return "unnamed"


def _rates(see: View) -> dict[str, float]:
    """Exits per second of each guest, by its folder: process number and file descriptor."""
    before, seconds = see.watched.before, see.watched.seconds
    found = {}
    for path, text in see.watched.after.items():
        parts = path.split("/")
        if path.startswith(f"{_COUNTERS}/") and parts[-1] == "exits" and path in before:
            counts = (before[path].strip(), text.strip())
            if seconds > 0 and all(count.isdecimal() for count in counts):
                found[parts[-2]] = (int(counts[1]) - int(counts[0])) / seconds
    return found


CHECKS = (
    Check(
        "V11",
        "host side of the guest's cores",
        "The guest's cores are not quiet on the host",
        CRITICAL,
        host_cores,
        "isolated, without a tick, and no device interrupt",
        roles=KVM_HOSTS,
        remedies=by_hand(
            "take the remedies of K04, K06 and R02",
            "on this host: taut host plan --role kvm-host --cores LIST has them",
        ),
        why="a guest can only be as quiet as its host: each tick, interrupt or thread of the host "
        "on the core is an exit, tens of microseconds as the guest sees it",
        source="Gallenmueller et al., Ducked Tails (2021), fig. 1",
    ),
    Check(
        "V12",
        "exits of guests",
        "Virtual CPUs often leave their guest",
        MAJOR,
        exits,
        f"{_MOST_PER_S:.0f} or fewer exits per second and core",
        roles=KVM_HOSTS,
        watches=(f"{_COUNTERS}/*/exits",),
        traces=("kvm/kvm_exit",),
        why="every exit takes the guest's core away for one to tens of microseconds",
        source="kvm tracepoints; kvm_stat",
    ),
)
