"""The run directory: what a run leaves, read back.

RUN/manifest.json, RUN/trials/NNN-.../{trial.json,packets.parquet,gaps.parquet,histogram.parquet}.
A trial under a temporary name (`.tmp-...`) does not count: its run died or still writes it.
"""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from taut.core.errors import InputError
from taut.core.files import TEMPORARY_PREFIX, refuse_odd_bytes, remove_unfinished
from taut.records.documents.json_form import read_document
from taut.records.documents.manifest import MANIFEST_FILE, Manifest
from taut.records.documents.trial import AS_FOUND as AS_FOUND
from taut.records.documents.trial import TRIAL_FILE, TrialDocument
from taut.records.tables import GAPS, HISTOGRAM, PACKETS, STAMPS, TRIALS

PACKED_SUFFIX = ".taut"

TRIMMED = "trimmed"
"""Names the state of the host with everything in force that `taut trim` tries."""


@dataclass(frozen=True)
class TrialDirectory:
    """One trial, whole or failed."""

    path: Path
    meta: TrialDocument = field(repr=False)

    @property
    def name(self) -> str:
        """The folder's name; its number says when it ran."""
        return self.path.name

    @property
    def is_whole(self) -> bool:
        """Whether the trial ended as planned."""
        return self.meta.is_whole

    @property
    def packets(self) -> Path:
        """One row for each packet."""
        return self.path / PACKETS

    @property
    def gaps(self) -> Path:
        """One row for each gap of the generator's and the forwarder's loop."""
        return self.path / GAPS

    @property
    def stamps(self) -> Path:
        """One row for each stamp of a packet at a hop; there only where hops stamp."""
        return self.path / STAMPS

    @property
    def histogram(self) -> Path:
        """One row for each bucket of each series (HistogramSeries)."""
        return self.path / HISTOGRAM


@dataclass(frozen=True)
class RunDirectory:
    """Where the files of one run are; reading one raises InputError where it is damaged."""

    path: Path

    def __post_init__(self) -> None:
        refuse_odd_bytes(self.path)

    def manifest(self) -> Manifest:
        """Give manifest.json as it is now; InputError: there is none, or it is damaged."""
        path = self.path / MANIFEST_FILE
        manifest = read_document(Manifest, path)
        _check_time(manifest.started_utc, path)
        return manifest

    def manifest_or_none(self) -> Manifest | None:
        """Give manifest.json; None of a run that has none."""
        return self.manifest() if (self.path / MANIFEST_FILE).is_file() else None

    @property
    def trials_path(self) -> Path:
        """The folder of the trials."""
        return self.path / TRIALS

    def trials(self) -> list[TrialDirectory]:
        """Every finished trial, whole and failed, in the order they ran."""
        if self.path.suffix == PACKED_SUFFIX and self.path.is_file():
            raise InputError(f"{self.path}: a packed run; `taut unpack {self.path}` first")
        if not self.path.is_dir():
            raise InputError(f"{self.path}: no such run directory; give one that `taut run` wrote")
        found = [
            path
            for path in self.trials_path.glob("*")
            if not path.name.startswith(TEMPORARY_PREFIX) and (path / TRIAL_FILE).is_file()
        ]
        return [
            TrialDirectory(path, _read_trial(path / TRIAL_FILE))
            for path in sorted(found, key=_as_they_ran)
        ]

    def has_whole(self, name: str) -> bool:
        """Whether there is a trial of this name that ended as planned; no other is read."""
        path = self.trials_path / name / TRIAL_FILE
        return path.is_file() and _read_trial(path).is_whole

    def remove_unfinished(self) -> None:
        """Remove the files that an analysis or a report left half written when it was killed."""
        for folder in (self.path, *self.path.glob("figures"), *self.trials_path.glob("[0-9]*")):
            remove_unfinished(folder)

    def some_trials(self) -> list[TrialDirectory]:
        """Give the trials; InputError: there is none, so it is no run directory."""
        found = self.trials()
        if not found:
            raise InputError(
                f"{self.path}: no trials; give a run directory of `taut run` or `taut analyze`"
            )
        return found


def _as_they_ran(path: Path) -> tuple[int, str]:
    """Order folders by number: a run that plans as it goes on has some of more digits."""
    number = path.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0, path.name


def _read_trial(path: Path) -> TrialDocument:
    trial = read_document(TrialDocument, path)
    _check_time(trial.started_utc, path)
    return trial


def _check_time(started_utc: str | None, path: Path) -> None:
    """InputError: a time that is there is none. Older documents have none."""
    try:
        datetime.fromisoformat(started_utc or "2000-01-01")
    except ValueError:
        raise InputError(
            f"{path}: started_utc: {started_utc!r} is no time; the file is damaged"
        ) from None
