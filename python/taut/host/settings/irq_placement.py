"""Where an interrupt may go and where it goes: the kernel keeps the core while the mask has it.

So a mask that is written back does not bring the interrupt back; writing its old core first does.
"""

import time
from dataclasses import dataclass
from typing import ClassVar

from taut.core.cpus import parse_cpu_list
from taut.host.host import Host
from taut.host.writer import Writer

# Some interrupts move when they next fire (IRQCHIP_MOVE_DEFERRED); an idle one may never do.
_WAIT_S = 0.1
_BETWEEN = " on "


@dataclass(frozen=True)
class IrqPlacement:
    """The value is `0-3 on 2`: allowed cores, and the one that serves it."""

    kind: ClassVar[str] = "irq-placement"

    irq: int

    @property
    def name(self) -> str:
        """By its number."""
        return f"core of interrupt {self.irq}"

    def read(self, host: Host) -> str | None:
        """Give both; None where the kernel does not tell."""
        allowed = host.read(f"/proc/irq/{self.irq}/smp_affinity_list")
        serves = host.read(f"/proc/irq/{self.irq}/effective_affinity_list")
        # Without a handler nobody serves it.
        return f"{allowed}{_BETWEEN}{serves}" if allowed and serves else None

    def write(self, writer: Writer, value: str | None) -> None:
        """Move it to the core, then allow the others again."""
        if value is None:
            return
        allowed, _, serves = value.partition(_BETWEEN)
        path = f"/proc/irq/{self.irq}/smp_affinity_list"
        if _serving(writer.host, self.irq) != serves:
            writer.write_file(path, f"{serves}\n")
            end = time.monotonic() + _WAIT_S
            while _serving(writer.host, self.irq) != serves and time.monotonic() < end:
                time.sleep(0.001)
        writer.write_file(path, f"{allowed}\n")

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Whether the same cores are allowed: which of them serves is the kernel's choice."""
        return _allowed(in_force) == _allowed(value)

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        """Managed interrupts: nobody moved them, so nobody need bring them back."""
        return "managed by its driver"


def is_within(value: str) -> bool:
    """Whether the core that serves is among the allowed."""
    allowed, _, serves = value.partition(_BETWEEN)
    return set(parse_cpu_list(serves)) <= set(parse_cpu_list(allowed))


def _allowed(value: str | None) -> str | None:
    return None if value is None else value.partition(_BETWEEN)[0]


def _serving(host: Host, irq: int) -> str | None:
    return host.read(f"/proc/irq/{irq}/effective_affinity_list")
