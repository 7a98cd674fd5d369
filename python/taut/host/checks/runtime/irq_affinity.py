"""R02: where device interrupts are delivered."""

from collections.abc import Mapping, Sequence

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import Check, Finding, Profile, Remedy, Severity, not_applicable, unknown
from taut.host.checks.runtime._cores import verdict
from taut.host.checks.runtime._interrupts import COUNTS, Interrupt, device_interrupts, fired
from taut.host.checks.runtime._nic import interrupts_of
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

# Interrupts of devices a poller drives itself; in poll mode they hardly fire.
_OWN = ("vfio-", "igb_uio", "uio_pci_generic")
_SHOWN = 4
_COST = "the other cores take these interrupts"

_Fired = Mapping[int, Mapping[int, int]] | None


class IrqAffinity(Check):
    """Reads the effective affinity: of the cores an interrupt may go to, most chips use one."""

    id = "R02"
    title = "interrupt affinity"
    fault = "Device interrupts go to poll cores"
    severity = Severity.MAJOR
    why = (
        "each device interrupt on a polling core costs microseconds to tens of microseconds, and "
        "its softirq more"
    )
    source = "tuned; rigtorp.se low latency guide; measured on a virtio guest"
    watches = (COUNTS,)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Judge affinity, and counts where they were watched."""
        if situation.role is Role.HOUSEKEEPING:
            return not_applicable(f"not asked of a {situation.role}")
        if not host.is_there("/proc/irq"):
            return not_applicable("no /proc/irq on this kernel")
        counts = fired(situation.watched)
        interrupts = _foreign(host, situation)
        cores = set(situation.cores or situation.online)
        places = {irq: _places(irq, counts) & cores for irq in interrupts}
        wanted = "no device interrupt on a polling core"
        bad = {core for place in places.values() for core in place}
        if bad:
            return verdict(bad, situation, _said(places, situation, counts), wanted)
        unread = [str(irq) for irq in interrupts if irq.cores is None]
        if unread:
            return unknown(
                f"affinity unreadable: {', '.join(unread[:_SHOWN])}",
                "a kernel that shows the affinity of interrupts",
                wanted,
            )
        observed = f"{len(interrupts)} device interrupts, none there"
        leaving = sum(irq.is_leaving and bool(cores & {*(irq.cores or ())}) for irq in interrupts)
        if leaving:
            observed += f" ({leaving} idle ones fire there once more, then move)"
        return verdict(bad, situation, observed, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Move all that may come to a polling core, never to nowhere."""
        housekeeping = situation.housekeeping
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, "move interrupts off the container's polling cores"),)
        if not situation.cores or not housekeeping:
            return ()
        cores = set(situation.cores)
        foreign = _foreign(host, situation)
        coming = [irq for irq in foreign if cores & {*(irq.allowed or irq.cores or ())}]
        movable = [irq for irq in coming if not irq.is_unmovable]
        remedies = [
            Remedy(
                "R02-boot",
                "at boot: new interrupts go to the housekeeping cores",
                boot=(KernelParameter("irqaffinity", cores=housekeeping),),
                profile=Profile.MINIMAL,
                cost=_COST,
            )
        ]
        if movable:
            remedies.insert(0, _move(movable, format_cpu_list(housekeeping)))
        if len(movable) < len(coming):
            names = ", ".join(str(irq) for irq in coming if irq.is_unmovable)
            remedies.append(_unmovable(names, format_cpu_list(situation.cores)))
        return tuple(remedies)


def _foreign(host: Host, situation: Situation) -> list[Interrupt]:
    """Those of the traffic's interfaces wake a device that sleeps: where, is its own matter."""
    names = () if situation.polls else situation.interfaces
    wake = {number for name in names for number in interrupts_of(host, name)}
    return [
        irq
        for irq in device_interrupts(host)
        if not irq.action.startswith(_OWN) and irq.number not in wake
    ]


def _places(irq: Interrupt, counts: _Fired) -> set[int]:
    """Give where it is delivered, and where it was while watched."""
    seen = {core for core, count in (counts or {}).get(irq.number, {}).items() if count > 0}
    # A managed one fires only for requests of its own core: one that stayed silent does no harm.
    if irq.is_leaving or (irq.is_unmovable and counts is not None):
        return seen
    return seen | set(irq.cores or ())


def _said(places: Mapping[Interrupt, set[int]], situation: Situation, counts: _Fired) -> str:
    """Name the busiest."""
    rates = {
        irq: sum((counts or {}).get(irq.number, {}).get(core, 0) for core in place)
        for irq, place in places.items()
        if place
    }
    said = []
    for irq in sorted(rates, key=lambda irq: (-rates[irq], irq.number))[:_SHOWN]:
        text = f"{irq} on core {format_cpu_list(places[irq])}"
        if counts is not None and situation.watched.seconds > 0:
            text += f" {rates[irq] / situation.watched.seconds:.0f}/s"
        said.append(text + (" unmovable" if irq.is_unmovable else ""))
    more = f" and {len(rates) - _SHOWN} more" if len(rates) > _SHOWN else ""
    return f"{len(rates)} of {len(places)} device interrupts: {', '.join(said)}{more}"


def _move(interrupts: Sequence[Interrupt], cores: str) -> Remedy:
    return Remedy(
        "R02-now",
        f"move {len(interrupts)} device interrupts to cores {cores}",
        changes=tuple(
            Change(
                FileSetting(f"/proc/irq/{irq.number}/smp_affinity_list", "list", may_refuse=True),
                cores,
            )
            for irq in interrupts
        ),
        profile=Profile.MINIMAL,
        cost=_COST,
        # One its driver manages refuses (EIO, EPERM) and stays. irqbalance would move them back;
        # the default mask is for those that come meanwhile, and other queues come with others.
        after=("R01-now", "K12-now", "R03-now"),
    )


def _unmovable(names: str, cores: str) -> Remedy:
    return Remedy(
        "R02-by-hand",
        "keep interrupts away that cannot be moved",
        by_hand=f"{names}: spread by the driver; boot with isolcpus=managed_irq,{cores} or give "
        "the device fewer queues",
    )


CHECK = IrqAffinity()
