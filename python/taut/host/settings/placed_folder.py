"""A folder that is made for a placed file and goes with it."""

import errno
from dataclasses import dataclass
from typing import ClassVar

from taut.host.host import Host
from taut.host.writer import Writer

_EMPTY, _IN_USE = "empty", "in use"


@dataclass(frozen=True)
class PlacedFolder:
    """The value is `empty`, `in use` or None: there is no such folder."""

    kind: ClassVar[str] = "placed-folder"

    path: str

    @property
    def name(self) -> str:
        return f"{self.path}/"

    def read(self, host: Host) -> str | None:
        if not host.is_there(self.path):
            return None
        return _IN_USE if host.names(self.path) else _EMPTY

    def write(self, writer: Writer, value: str | None) -> None:
        """Remove it, unless somebody uses it by now."""
        if value is not None:
            return
        try:
            writer.remove_folder(self.path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """A folder in use may stay."""
        return in_force in (value, _IN_USE)

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        return None
