"""Whether the kernel swaps to a file or partition."""

from dataclasses import dataclass
from typing import ClassVar

from taut.host.host import Host
from taut.host.writer import Writer

_SWAPS = "/proc/swaps"


@dataclass(frozen=True)
class SwapArea:
    """The value is `on`, `on PRIORITY` where somebody gave one, or `off`."""

    kind: ClassVar[str] = "swap-area"

    path: str

    @property
    def name(self) -> str:
        """The path."""
        return f"swap {self.path}"

    def read(self, host: Host) -> str | None:
        """Look into /proc/swaps; None on a kernel without swap."""
        text = host.read(_SWAPS)
        if text is None:
            return None
        for line in text.splitlines()[1:]:
            fields = line.split()
            if len(fields) == 5 and _unescaped(fields[0]) == self.path:
                # The kernel itself gives priorities below zero (swapon(2)): nobody can ask for one.
                return "on" if fields[4].startswith("-") else f"on {fields[4]}"
        return "off"

    def write(self, writer: Writer, value: str | None) -> None:
        """Call swapon or swapoff, which brings everything back into memory first."""
        if value is None or self.agrees(self.read(writer.host), value):
            return
        if value == "off":
            writer.command(["swapoff", self.path])
            return
        priority = value.removeprefix("on").strip()
        writer.command(["swapon", *(["-p", priority] if priority else []), self.path])

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """`on` means with any priority."""
        if in_force is not None and value == "on":
            return in_force.startswith("on")
        return in_force == value

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        """Never."""
        return None


def _unescaped(name: str) -> str:
    """Blanks show as octal escapes there."""
    return name.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
