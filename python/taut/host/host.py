"""Host: read access to what a machine says of itself in /proc, /sys and /etc.

Tests give a folder as root. Nothing here writes.
"""

from dataclasses import dataclass
from pathlib import Path

from taut.core.cpus import CpuSet, parse_cpu_list


@dataclass(frozen=True)
class Host:
    """A machine, or a folder that looks like one."""

    root: Path = Path("/")

    def read(self, path: str) -> str | None:
        """Give a file's text without surrounding blanks; None when there is none to read."""
        try:
            return self._at(path).read_text(encoding="utf-8", errors="replace").strip("\0 \t\n")
        except OSError:
            return None

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none when there is no such folder."""
        try:
            return sorted(path.name for path in self._at(folder).iterdir())
        except OSError:
            return []

    def link_target(self, path: str) -> str | None:
        """Name a symbolic link points to, without its folders."""
        try:
            return self._at(path).readlink().name
        except OSError:
            return None

    def online_cores(self) -> CpuSet:
        """Cores the kernel runs."""
        return self.cores("/sys/devices/system/cpu/online")

    def isolated_cores(self) -> CpuSet:
        """Cores the scheduler leaves alone (isolcpus)."""
        return self.cores("/sys/devices/system/cpu/isolated")

    def cores(self, path: str) -> CpuSet:
        """A file that holds a list of cores; none when it is empty or not there."""
        text = self.read(path) or ""
        return parse_cpu_list(text) if text[:1].isdigit() else ()

    def fields(self, path: str) -> dict[str, str]:
        """Lines `name: value` of a file; the first of each name counts."""
        found: dict[str, str] = {}
        for line in (self.read(path) or "").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                found.setdefault(name.strip(), value.strip())
        return found

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")
