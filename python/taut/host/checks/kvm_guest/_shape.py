"""What the checks of this group share: they are asked of guests, and read the same few files."""

from taut.host.check import Finding, not_applicable
from taut.host.host import Host
from taut.host.situation import Role, Situation

INTERRUPTS = "/proc/interrupts"


def not_a_guest(situation: Situation) -> Finding | None:
    """Say that only guests are asked; None: judge."""
    if situation.role is Role.KVM_GUEST:
        return None
    return not_applicable(f"not asked of a {situation.role}")


def dmesg(host: Host) -> list[str]:
    """Lines of the kernel's log without their times; none: not readable."""
    lines = (host.command("dmesg") or "").splitlines()
    return [line.partition("] ")[2] or line for line in lines]


def interrupts(text: str | None, name: str) -> int | None:
    """Sum over all cores the row of /proc/interrupts whose label or action is `name`."""
    for line in (text or "").splitlines():
        label, colon, rest = line.partition(":")
        words = rest.split()
        if colon and (label.strip() == name or words[-1:] == [name]):
            counts = []
            for word in words:
                if not word.isdecimal():
                    break
                counts.append(int(word))
            return sum(counts) if counts else None
    return None
