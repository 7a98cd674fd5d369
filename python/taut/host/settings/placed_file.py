"""A file of the system's configuration that taut puts in place: a drop-in under /etc."""

from dataclasses import dataclass
from typing import ClassVar

from taut.host.host import Host
from taut.host.writer import Writer


@dataclass(frozen=True)
class PlacedFile:
    """A file that may not be there; restoring it may mean removing it."""

    kind: ClassVar[str] = "placed-file"

    path: str

    @property
    def name(self) -> str:
        return self.path

    def read(self, host: Host) -> str | None:
        """Give the whole text."""
        return host.read_exactly(self.path)

    def write(self, writer: Writer, value: str | None) -> None:
        """Put or remove the file."""
        if value is None:
            writer.remove_file(self.path)
        else:
            writer.put_file(self.path, value)

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        return in_force == value

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        """Never: a file that cannot be put is a failure."""
        return None
