"""pack.json: what a packed run holds, the last file in it."""

from dataclasses import dataclass

PACK_FILE = "pack.json"
PACK_FORMAT = 1


@dataclass(frozen=True)
class PackedFile:
    """A file of the run."""

    path: str
    """From the run directory, with slashes."""
    size: int
    sha256: str


@dataclass(frozen=True)
class LeftOut:
    """The raw records that were left out where that was asked for."""

    n_files: int
    n_bytes: int


@dataclass(frozen=True)
class PackDocument:
    """What is in a packed run, and what of the run is not."""

    taut: str
    """The version that packed the run."""
    run: str
    """Name of the run directory."""
    files: tuple[PackedFile, ...]
    left_out: LeftOut | None = None
    """None where everything was packed."""
    format: int = PACK_FORMAT

    @property
    def n_bytes(self) -> int:
        """Bytes of all files once they are unpacked."""
        return sum(file.size for file in self.files)
