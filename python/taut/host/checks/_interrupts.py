"""/proc/interrupts, and the interrupts of devices: where they go, and how often they fire."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from taut.core.cpus import CpuSet
from taut.host.situation import Watched
from taut.host.view import View, mask_in

COUNTS = "/proc/interrupts"

USER_SPACE = ("vfio-", "igb_uio", "uio_pci_generic")
"""Begin the actions of devices that a poller or a guest drives itself."""

# Names of what is done at the interrupts of a core's own timer, where it is one among others.
_TIMERS = (["arch_timer"], ["riscv-timer"])
# Of a GIC, hardware numbers below 32 are private to each core (arm64: arch_timer, arm-pmu).
_GIC_PRIVATE = 32


@dataclass(frozen=True)
class Interrupt:
    """An interrupt of a driver. Its number may change at boot; action and hwirq identify it."""

    number: int
    action: str
    hwirq: str
    cores: CpuSet | None
    """Where it is delivered; None: the kernel does not say, or nothing that can be read."""
    allowed: CpuSet
    """Where it may be delivered."""
    is_unmovable: bool
    """Known to be spread by its driver. Older kernels tell only by refusing a write."""

    @property
    def is_leaving(self) -> bool:
        """Whether it was told to move, and will once it has fired (IRQD_SETAFFINITY_PENDING)."""
        return bool(self.allowed and self.cores) and not set(self.allowed) & set(self.cores or ())

    def __str__(self) -> str:
        hwirq = f", hwirq {self.hwirq}" if self.hwirq else ""
        return f"{self.action} (IRQ {self.number}{hwirq})"


def counts(text: str | None) -> dict[str, dict[int, int]]:
    """Give /proc/interrupts by row and core; the header names the cores that are online.

    A row ends at its first word that is no number: what is malformed has fewer cores.
    """
    lines = (text or "").splitlines() or [""]
    words = [word.removeprefix("CPU") for word in lines[0].split()]
    cores = [int(word) for word in words if word.isdecimal()]
    found = {}
    for line in lines[1:]:
        label, _, rest = line.partition(":")
        numbers = takewhile(str.isdecimal, rest.split()[: len(cores)])
        found[label.strip()] = dict(zip(cores, map(int, numbers), strict=False))
    return found


def timer_ticks(text: str | None) -> dict[int, int]:
    """Give interrupts of each core's own timer: a row on x86, elsewhere told by its action."""
    rows = counts(text)
    if "LOC" in rows:
        return rows["LOC"]
    found = (line for line in (text or "").splitlines() if line.split()[-1:] in _TIMERS)
    return next((rows[line.partition(":")[0].strip()] for line in found), {})


def total(text: str | None, name: str) -> int | None:
    """Sum over all cores the row whose label or action is `name`; None: no such row."""
    for line in (text or "").splitlines():
        label, colon, rest = line.partition(":")
        words = rest.split()
        if colon and (label.strip() == name or words[-1:] == [name]):
            numbers = [int(word) for word in takewhile(str.isdecimal, words)]
            return sum(numbers) if numbers else None
    return None


def fired(watched: Watched) -> Mapping[int, Mapping[int, int]] | None:
    """How often each device interrupt fired on each core while watched; None: nobody watched."""
    if COUNTS not in watched.before or COUNTS not in watched.after:
        return None
    before, after = counts(watched.before[COUNTS]), counts(watched.after[COUNTS])
    return {
        int(label): {
            core: count - before.get(label, {}).get(core, 0) for core, count in row.items()
        }
        for label, row in after.items()
        if label.isdecimal()
    }


def device_interrupts(see: View) -> list[Interrupt]:
    """Give the interrupts that have an action, by number."""
    numbers = sorted(int(name) for name in see.names("/proc/irq") if name.isdecimal())
    found = (_interrupt(see, number) for number in numbers)
    return [interrupt for interrupt in found if interrupt is not None]


def _interrupt(see: View, number: int) -> Interrupt | None:
    action = action_of(see, number)
    if not action or _is_private(see, number):
        return None
    allowed = see.list_of_cores(f"/proc/irq/{number}/smp_affinity_list")
    return Interrupt(
        number=number,
        action=action,
        hwirq=see.read(f"/sys/kernel/irq/{number}/hwirq") or "",
        cores=_delivered(see, number) or allowed or None,
        allowed=allowed or (),
        is_unmovable=_is_unmovable(see, number),
    )


def action_of(see: View, number: int) -> str:
    """Name what is done at an interrupt; empty: nobody waits for it."""
    actions = see.read(f"/sys/kernel/irq/{number}/actions")
    if actions is not None:
        return actions
    # Kernels without that file show each action as a folder.
    folder = f"/proc/irq/{number}"
    return ",".join(name for name in see.names(folder) if see.read(f"{folder}/{name}") is None)


def _is_unmovable(see: View, number: int) -> bool:
    """Whether its driver spreads it: its mask is read-only, or a debug kernel says so."""
    debug = see.read(f"/sys/kernel/debug/irq/irqs/{number}") or ""
    mask = see.host.root / f"proc/irq/{number}/smp_affinity_list"
    try:
        return "IRQD_AFFINITY_MANAGED" in debug or not mask.stat().st_mode & stat.S_IWUSR
    except OSError:
        return False


def _is_private(see: View, number: int) -> bool:
    chip = see.read(f"/sys/kernel/irq/{number}/chip_name") or ""
    hwirq = see.number(f"/sys/kernel/irq/{number}/hwirq")
    return chip.startswith("GIC") and hwirq is not None and hwirq < _GIC_PRIVATE


def _delivered(see: View, number: int) -> CpuSet | None:
    """Give the cores in force: of those an interrupt may go to, most chips use one."""
    folder = f"/proc/irq/{number}"
    cores = see.list_of_cores(f"{folder}/effective_affinity_list")
    return cores or mask_in(see.read(f"{folder}/effective_affinity"))


def interrupts_of(see: View, interface: str) -> set[int]:
    """Give the numbers of its message-signalled interrupts; of a virtio one, its PCI function's.

    Above a card is the port it is plugged into, whose interrupts are not the card's.
    """
    device = f"/sys/class/net/{interface}/device"
    names = see.names(f"{device}/msi_irqs") or see.names(f"{device}/../msi_irqs")
    return {int(name) for name in names if name.isdecimal()}
