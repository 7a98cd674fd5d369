"""A file of /proc or /sys that holds one value."""

import errno
from dataclasses import dataclass
from typing import ClassVar

from taut.core.cpus import parse_cpu_mask, parse_shown_list
from taut.core.errors import InputError
from taut.host.host import Host
from taut.host.writer import Writer

_REFUSED = {
    errno.EIO: "managed by its driver",
    errno.EPERM: "locked by the kernel",
    # Intel VMD, and PCIe by DesignWare on ARM: all interrupts behind it are one.
    errno.EINVAL: "its controller cannot move it",
    # A core of x86 takes some 200 (arch/x86/kernel/apic/vector.c).
    errno.ENOSPC: "these cores take no more interrupts",
}


@dataclass(frozen=True)
class FileSetting:
    """`form` says what the text means: text, number, mask, list (of cores) or choice ([one])."""

    kind: ClassVar[str] = "file"

    path: str
    form: str = "text"
    may_refuse: bool = False
    """Whether EIO, EPERM, EINVAL and ENOSPC are no failure: some interrupts cannot be moved."""

    @property
    def name(self) -> str:
        return self.path

    def read(self, host: Host) -> str | None:
        """Give the whole text."""
        return host.read_exactly(self.path)

    def write(self, writer: Writer, value: str | None) -> None:
        """Write the value; of a choice, the chosen word."""
        if value is None:
            raise OSError(0, f"{self.path}: had no value; it cannot be taken away")
        text = _chosen(value) if self.form == "choice" else value
        writer.write_file(self.path, text if text.endswith("\n") else f"{text}\n")

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Compare what the texts mean; texts that mean nothing are compared as they are."""
        if in_force is None or value is None:
            return in_force is value
        try:
            return self._meaning(in_force) == self._meaning(value)
        except (ValueError, InputError):
            return in_force.strip() == value.strip()

    def unmovable(self, error: OSError) -> str | None:
        return _REFUSED.get(error.errno or 0) if self.may_refuse else None

    def _meaning(self, text: str) -> object:
        text = text.strip()
        match self.form:
            case "number":
                return int(text, 0)
            case "mask":
                return parse_cpu_mask(text)
            case "list":
                return parse_shown_list(text)
            case "choice":
                return _chosen(text)
            case _:
                return text


def _chosen(text: str) -> str:
    """Give the word in brackets: `always [madvise] never`."""
    return text.partition("[")[2].partition("]")[0] if "[" in text else text.strip()
