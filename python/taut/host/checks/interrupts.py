"""Checks of devices' interrupts: where they are delivered."""

from collections.abc import Iterable, Mapping, Sequence

from taut.core.cpus import cpu_mask, format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import isolations, need_command_line
from taut.host.checks._interrupts import (
    COUNTS,
    USER_SPACE,
    Interrupt,
    device_interrupts,
    fired,
    interrupts_of,
)
from taut.host.situation import Role
from taut.host.table import (
    EVERYWHERE,
    MAJOR,
    MINIMAL,
    REBOOT,
    Check,
    boot,
    by_hand,
    now,
    write,
)
from taut.host.threads import some
from taut.host.view import View, named, shown

_DEFAULT_MASK = "/proc/irq/default_smp_affinity"
_DEBUG = "/sys/kernel/debug/irq/irqs"
_PCI = "/sys/bus/pci/devices"

_Fired = Mapping[int, Mapping[int, int]] | None


def managed(see: View) -> Finding:
    """/proc/irq cannot move them (EIO): only the kernel's parameter keeps them away."""
    need_command_line(see)
    n_managed = _n_managed(see)
    if n_managed == 0:
        see.skip("no interrupt of this machine is managed")
    given = (each for each in isolations(see) if "managed_irq" in each.flags)
    covered = tuple(sorted({core for each in given for core in each.cores or ()}))
    count = f"{n_managed} managed interrupts" if n_managed else "interrupts by message (MSI)"
    return see.all_in(covered, f"isolcpus=managed_irq: {shown(covered)}, {count}")


def keep_managed_away(see: View) -> Iterable[Remedy]:
    """At boot; until then fewer queues."""
    if not see.can_split:
        return
    yield boot(
        f"keep managed interrupts off {named(see.cores)}",
        KernelParameter("isolcpus", flags=("managed_irq",), cores=see.cores),
        rollback=REBOOT,
        profile=MINIMAL,
        # Best effort: a queue that has isolated cores only stays where it is.
        cost="the other cores take these interrupts",
    )
    fewer = f"ethtool -L INTERFACE combined {len(see.housekeeping)}"
    yield by_hand("give the devices fewer queues until then", fewer)


def _n_managed(see: View) -> int | None:
    """How many; None where there may be some and debugfs does not tell."""
    if names := see.names(_DEBUG):
        texts = (see.read(f"{_DEBUG}/{name}") or "" for name in names)
        return sum("IRQD_AFFINITY_MANAGED" in text for text in texts)
    # Only vectors that devices signal by a message can be managed.
    return 0 if see.is_there(_PCI) and not see.paths(f"{_PCI}/*/msi_irqs/*") else None


def new_ones(see: View) -> Finding:
    """The default mask of every interrupt that is set up from now on, compared as a bitmap."""
    cores = see.mask(_DEFAULT_MASK)
    return see.none_in(cores, f"{_DEFAULT_MASK} = {see.read(_DEFAULT_MASK)}")


def send_new_ones_elsewhere(see: View) -> Iterable[Remedy]:
    """Leave the housekeeping cores in the mask."""
    if not see.can_split:
        return
    cores = see.housekeeping
    summary = f"give new interrupts to {named(cores)}"
    cost = "the other cores take the interrupts of new devices"
    change = write(_DEFAULT_MASK, cpu_mask(cores), "mask")
    yield now(summary, change, profile=MINIMAL, cost=cost)
    parameter = KernelParameter("irqaffinity", cores=cores)
    yield boot(summary, parameter, rollback=REBOOT, profile=MINIMAL, cost=cost)


def delivery(see: View) -> Finding:
    """Of the cores an interrupt may go to, most chips use one; counts where they were watched."""
    if not see.is_there("/proc/irq"):
        see.skip("no /proc/irq on this kernel")
    counts = fired(see.watched)
    interrupts = _foreign(see)
    cores = set(see.judged)
    places = {irq: _places(irq, counts) & cores for irq in interrupts}
    bad = {core for place in places.values() for core in place}
    if bad:
        return see.none_of(bad, _said(see, places, counts))
    if unread := [str(irq) for irq in interrupts if irq.cores is None]:
        needs = "a kernel that shows the affinity of interrupts"
        see.cannot_tell(f"affinity unreadable: {', '.join(unread[:4])}", needs)
    observed = f"{len(interrupts)} device interrupts, none there"
    leaving = sum(irq.is_leaving and bool(cores & {*(irq.cores or ())}) for irq in interrupts)
    if leaving:
        observed += f" ({leaving} idle ones fire there once more, then move)"
    return see.none_of(bad, observed)


def move_away(see: View) -> Iterable[Remedy]:
    """Move all that may come to a polling core, never to nowhere."""
    if not see.can_split:
        return
    cores = set(see.cores)
    coming = [irq for irq in _foreign(see) if cores & {*(irq.allowed or irq.cores or ())}]
    movable = [irq for irq in coming if not irq.is_unmovable]
    cost = "the other cores take these interrupts"
    if movable:
        wanted = format_cpu_list(see.housekeeping)
        paths = (f"/proc/irq/{irq.number}/smp_affinity_list" for irq in movable)
        yield now(
            f"move {len(movable)} device interrupts to {named(see.housekeeping)}",
            *(write(path, wanted, "list", may_refuse=True) for path in paths),
            profile=MINIMAL,
            cost=cost,
            # One that cannot move refuses (settings/file.py) and stays. irqbalance would move them
            # back; the default mask is for those that come meanwhile, and other queues come with
            # others.
            after=("R01-now", "K12-now", "R03-now"),
        )
    yield boot(
        "at boot: new interrupts go to the housekeeping cores",
        KernelParameter("irqaffinity", cores=see.housekeeping),
        profile=MINIMAL,
        cost=cost,
    )
    if len(movable) < len(coming):
        names = ", ".join(str(irq) for irq in coming if irq.is_unmovable)
        yield by_hand(
            "keep interrupts away that cannot be moved",
            f"{names}: spread by the driver; boot with isolcpus=managed_irq,"
            f"{format_cpu_list(see.cores)} or give the device fewer queues",
        )


def _foreign(see: View) -> list[Interrupt]:
    """Those of the traffic's interfaces wake a device that sleeps: where, is its own matter."""
    names: Sequence[str] = () if see.situation.polls else see.situation.interfaces
    wake = {number for name in names for number in interrupts_of(see, name)}
    return [
        irq
        for irq in device_interrupts(see)
        if not irq.action.startswith(USER_SPACE) and irq.number not in wake
    ]


def _places(irq: Interrupt, counts: _Fired) -> set[int]:
    """Give where it is delivered, and where it was while watched."""
    seen = {core for core, count in (counts or {}).get(irq.number, {}).items() if count > 0}
    # A managed one fires only for requests of its own core: one that stayed silent does no harm.
    if irq.is_leaving or (irq.is_unmovable and counts is not None):
        return seen
    return seen | set(irq.cores or ())


def _said(see: View, places: Mapping[Interrupt, set[int]], counts: _Fired) -> str:
    """Name interrupts and their cores, the most frequent first."""
    rates = {
        irq: sum((counts or {}).get(irq.number, {}).get(core, 0) for core in place)
        for irq, place in places.items()
        if place
    }
    said = []
    for irq in sorted(rates, key=lambda irq: (-rates[irq], irq.number)):
        text = f"{irq} on core {format_cpu_list(places[irq])}"
        if counts is not None and see.watched.seconds > 0:
            text += f" {rates[irq] / see.watched.seconds:.0f}/s"
        said.append(text + (" unmovable" if irq.is_unmovable else ""))
    return f"{len(rates)} of {len(places)} device interrupts: {some(said)}"


CHECKS = (
    Check(
        "K05",
        "managed interrupts stay away",
        "Managed interrupts may reach poll cores",
        MAJOR,
        managed,
        "isolcpus=managed_irq for every poll core",
        remedies=keep_managed_away,
        why="NVMe, virtio and network drivers spread managed vectors over all cores, and a write "
        "to their affinity fails with EIO; each interrupt costs microseconds, tens in a guest",
        source="kernel-parameters.txt (isolcpus=managed_irq); cpu-isolation.rst; NTO #915",
    ),
    Check(
        "K12",
        "new interrupts go elsewhere",
        "New interrupts may go to poll cores",
        MAJOR,
        new_ones,
        "a mask without poll cores",
        remedies=send_new_ones_elsewhere,
        why="a driver that loads or an interface that comes up takes its interrupts' cores from "
        "this mask; each interrupt on a poll core costs microseconds, tens in a guest",
        source="kernel-parameters.txt (irqaffinity); Ducked Tails (2021); tuned #370",
    ),
    Check(
        "R02",
        "interrupt affinity",
        "Device interrupts go to poll cores",
        MAJOR,
        delivery,
        "no device interrupt on a polling core",
        roles=EVERYWHERE - {Role.HOUSEKEEPING},
        watches=(COUNTS,),
        remedies=move_away,
        host_does="move interrupts off the container's polling cores",
        why="each device interrupt on a polling core costs microseconds to tens of microseconds, "
        "and its softirq more",
        source="tuned; rigtorp.se low latency guide; measured on a virtio guest",
    ),
)
