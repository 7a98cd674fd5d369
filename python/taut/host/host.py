"""Host: read access to what a machine says of itself in /proc, /sys and /etc.

Tests give a folder as root; a folder copied from another machine works as well. Nothing here
writes.
"""

import subprocess
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from taut.core.cpus import CpuSet, cores_in

COMMANDS = "commands"
"""Folder of a copied machine that holds what programs printed, one file per command line."""

_COMMAND_SECONDS = 10


@dataclass(frozen=True)
class Host:
    """A machine, or a folder that looks like one."""

    root: Path = Path("/")

    @property
    def is_live(self) -> bool:
        """Whether this is the machine we run on, not a copy of one."""
        return self.root == Path("/")

    def read(self, path: str) -> str | None:
        """Give a file's text without surrounding blanks; None when there is none to read."""
        data = self.read_bytes(path)
        return None if data is None else data.decode(errors="replace").strip("\0 \t\n")

    def read_exactly(self, path: str) -> str | None:
        """Give a file's text byte for byte, as a journal keeps it; None when there is none."""
        data = self.read_bytes(path)
        return None if data is None else data.decode(errors="surrogateescape")

    def read_bytes(self, path: str) -> bytes | None:
        """Give what is in a file; None when there is none to read."""
        try:
            return self._at(path).read_bytes()
        except OSError:
            return None

    def is_denied(self, path: str) -> bool:
        """Whether a file may be there but this user may not read it: root would know more."""
        try:
            with self._at(path).open("rb"):
                return False
        except PermissionError:
            return True
        except OSError:
            return False

    def is_there(self, path: str) -> bool:
        """Whether there is such a file or folder, as far as this user may see."""
        try:
            self._at(path).lstat()
        except OSError:
            return False
        return True

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none when there is no such folder."""
        try:
            return sorted(path.name for path in self._at(folder).iterdir())
        except OSError:
            return []

    def paths(self, pattern: str) -> list[str]:
        """Paths that match a pattern such as /proc/irq/*/smp_affinity, sorted.

        A folder that goes while others are listed, as that of a thread, costs its own alone.
        """
        # Path.glob would end there (PTH207 wants it).
        found = glob(pattern.lstrip("/"), root_dir=self.root, include_hidden=True)  # noqa: PTH207
        return sorted(f"/{path}" for path in found)

    def link_target(self, path: str) -> str | None:
        """Name a symbolic link points to, without its folders."""
        try:
            return self._at(path).readlink().name
        except OSError:
            return None

    def command(self, *argv: str) -> str | None:
        """Run a program that only reads, and give what it prints; None when it is absent or fails.

        For a copied machine, give the file named after the command line, with `_` for `/`.
        """
        if not self.is_live:
            return self.read(f"/{COMMANDS}/{' '.join(argv).replace('/', '_')}")
        try:
            ended = subprocess.run(
                argv, capture_output=True, text=True, errors="replace", timeout=_COMMAND_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        # `systemctl is-active` answers on standard output and fails for "inactive".
        return ended.stdout.strip() if ended.returncode == 0 or ended.stdout.strip() else None

    def online_cores(self) -> CpuSet:
        """Cores that are online."""
        return self.cores("/sys/devices/system/cpu/online")

    def isolated_cores(self) -> CpuSet:
        """Cores the scheduler leaves alone (isolcpus)."""
        return self.cores("/sys/devices/system/cpu/isolated")

    def nodes(self) -> dict[int, int]:
        """Give the NUMA node of each online core; of none where the kernel tells of no nodes."""
        paths = self.paths("/sys/devices/system/node/node[0-9]*/cpulist")
        numbers = [path.split("/")[-2].removeprefix("node") for path in paths]
        return {
            core: int(number)
            for number, path in zip(numbers, paths, strict=True)
            if number.isdecimal()
            for core in self.cores(path)
        }

    def cores(self, path: str) -> CpuSet:
        """A file that holds a list of cores; none when it is empty, malformed or not there."""
        return cores_in(self.read(path)) or ()

    def number(self, path: str) -> int | None:
        """Read a file that holds one whole number, decimal or 0x; None when it does not."""
        try:
            return int(self.read(path) or "", 0)
        except ValueError:
            return None

    def fields(self, path: str) -> dict[str, str]:
        """Read a file of lines `name: value`; the first of each name counts."""
        found: dict[str, str] = {}
        for line in (self.read(path) or "").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                found.setdefault(name.strip(), value.strip())
        return found

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")
