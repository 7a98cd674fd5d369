"""Whether the kernel swaps to a file or partition."""

import errno
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from taut.host.host import Host
from taut.host.writer import Writer

_SWAPS = "/proc/swaps"
_MEMINFO = "/proc/meminfo"
_TIMEOUT_S = 60.0
# MemAvailable is the kernel's estimate (proc(5)), and programs go on asking meanwhile.
_SPARE = 0.1


@dataclass(frozen=True)
class SwapArea:
    """The value is `on`, `on PRIORITY` where somebody gave one, or `off`."""

    kind: ClassVar[str] = "swap-area"

    path: str

    @property
    def name(self) -> str:
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
        """Call swapon or swapoff, which brings everything back into memory first.

        Checks once more right before that everything fits: otherwise the kernel would kill
        processes. A swapoff that takes too long is ended, and swap stays on.
        """
        if value is None or self.agrees(self.read(writer.host), value):
            return
        if value == "off":
            shortage = too_little_memory(writer.host, [self.path])
            if shortage:
                raise OSError(errno.ENOMEM, shortage)
            writer.command(["swapoff", self.path], timeout_s=_TIMEOUT_S)
            return
        priority = value.removeprefix("on").strip()
        writer.command(["swapon", *(["-p", priority] if priority else []), self.path])

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Compare; a wanted `on` means with any priority."""
        if in_force is not None and value == "on":
            return in_force.startswith("on")
        return in_force == value

    def unmovable(self, error: OSError) -> str | None:
        """Say so where memory or time was too short: swap is then on, as before."""
        if error.errno in (errno.ENOMEM, errno.ETIMEDOUT):
            return error.strerror
        return None


def used_kb(host: Host, paths: Collection[str]) -> int:
    """Give how much of these areas is in use, in KiB."""
    lines = (host.read(_SWAPS) or "").splitlines()[1:]
    rows = [fields for fields in map(str.split, lines) if len(fields) == 5]
    return sum(
        int(fields[3])
        for fields in rows
        if _unescaped(fields[0]) in paths and fields[3].isdecimal()
    )


def too_little_memory(host: Host, paths: Collection[str]) -> str:
    """Say that memory has no room for what these areas hold; empty: it has."""
    used = used_kb(host, paths)
    if not used:
        return ""
    fields = host.fields(_MEMINFO)
    total, available = (kb_in(fields.get(name)) for name in ("MemTotal", "MemAvailable"))
    if total is None or available is None:
        return f"{used // 1024} MB are swapped out, and {_MEMINFO} does not say what is available"
    if used + total * _SPARE <= available:
        return ""
    return (
        f"{used // 1024} MB are swapped out, {available // 1024} MB are available, and "
        f"{total * _SPARE // 1024:.0f} MB must stay so"
    )


def kb_in(text: str | None) -> int | None:
    """Read a number of kB, as `VmLck: 20 kB` in /proc has them; None: there is none."""
    number = (text or "").partition(" ")[0]
    return int(number) if number.isdecimal() else None


def _unescaped(name: str) -> str:
    """Undo the octal escapes of blanks in /proc/swaps."""
    return name.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
