"""The cores an interrupt may go to, and the core that serves it.

The kernel keeps the core as long as the mask has it. So writing the old mask back does not bring
the interrupt back; writing its old core first does.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from taut.core.cpus import parse_shown_list
from taut.host.host import Host
from taut.host.writer import Writer

WAIT_S = 10.0
"""Some interrupts move only when they next fire (IRQCHIP_MOVE_DEFERRED), which may take long."""

_BETWEEN = " on "


@dataclass(frozen=True)
class IrqPlacement:
    """The value is `0-3 on 2`: allowed cores, and the one that serves it."""

    kind: ClassVar[str] = "irq-placement"

    irq: int

    @property
    def name(self) -> str:
        return f"core of interrupt {self.irq}"

    def read(self, host: Host) -> str | None:
        """Give mask and core; None where the kernel does not tell."""
        allowed = host.read(f"/proc/irq/{self.irq}/smp_affinity_list")
        serves = host.read(f"/proc/irq/{self.irq}/effective_affinity_list")
        # Without a handler nobody serves it.
        return f"{allowed}{_BETWEEN}{serves}" if allowed and serves else None

    def write(self, writer: Writer, value: str | None) -> None:
        """Move it to the core, then allow the others again."""
        if value is not None:
            bring_back(writer, [(self, value)])

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Whether the same cores are allowed: which of them serves is the kernel's choice."""
        return _allowed(in_force) == _allowed(value)

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        """Say so for managed interrupts: taut did not move them and need not bring them back."""
        return "managed by its driver"


def bring_back(
    writer: Writer, placements: Sequence[tuple[IrqPlacement, str]], wait_s: float = WAIT_S
) -> list[IrqPlacement]:
    """Move interrupts to the cores that served them, all at once; give those that did not go."""
    cores = {placement: value.partition(_BETWEEN)[2] for placement, value in placements}

    def away() -> list[IrqPlacement]:
        return [each for each in cores if _serving(writer.host, each.irq) != cores[each]]

    for each in away():
        # A managed interrupt: the kernel moved it, and nobody else can.
        with suppress(OSError):
            writer.write_file(_path(each.irq), f"{cores[each]}\n")
    end = time.monotonic() + wait_s
    while (left := away()) and time.monotonic() < end:
        time.sleep(0.002)
    for placement, value in placements:
        with suppress(OSError):
            writer.write_file(_path(placement.irq), f"{_allowed(value)}\n")
    return left


def is_within(value: str) -> bool:
    """Whether the core that serves is among the allowed."""
    allowed, _, serves = value.partition(_BETWEEN)
    return set(parse_shown_list(serves)) <= set(parse_shown_list(allowed))


def _allowed(value: str | None) -> str | None:
    return None if value is None else value.partition(_BETWEEN)[0]


def _path(irq: int) -> str:
    return f"/proc/irq/{irq}/smp_affinity_list"


def _serving(host: Host, irq: int) -> str | None:
    return host.read(f"/proc/irq/{irq}/effective_affinity_list")
