"""What a setting is: a place on the machine that holds a value taut can read, write and restore.

Checks only name settings and wanted values; apply and undo alone write them, through a Writer. To
add a kind: a file in settings/ and its line in settings/__init__.py.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from taut.host.host import Host
from taut.host.writer import Writer

HALF_MADE = "half made"
"""What `read` gives of a setting of several steps whose writer died between them."""


class Setting(Protocol):
    """A place for one value. Members are frozen dataclasses of JSON values, for the journal."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """Its name for people: a path, "affinity of kswapd0 (50)"."""

    def read(self, host: Host) -> str | None:
        """Give the value in force, exactly, as the journal keeps it; None: there is none."""

    def write(self, writer: Writer, value: str | None) -> None:
        """Put a value: a wanted one, or one `read` gave. None: as if it had never been there.

        OSError: the machine refused.
        """

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Whether what `read` gave means the value: bitmaps as bitmaps, numbers as numbers."""

    def unmovable(self, error: OSError) -> str | None:
        """Say why a refusal is to be expected (a managed interrupt); None: it is a failure."""


@dataclass(frozen=True)
class Change:
    """A setting and the value it shall have."""

    setting: Setting
    wanted: str
