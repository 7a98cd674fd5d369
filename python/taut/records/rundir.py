"""The run directory: what a run leaves, read back.

RUN/manifest.json, RUN/trials/NNN-.../{trial.json,packets.parquet,gaps.parquet,histogram.parquet}.
A trial under a temporary name (`.tmp-...`) is not there: its run died or still writes it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from taut.core.errors import InputError

AS_FOUND = "as found"
"""The state of a host that nobody changed; of trials from before there were states, too."""

TRIMMED = "trimmed"
"""The state `taut trim` measures beside it: everything it tries, in force."""

TEMPORARY_PREFIX = ".tmp-"


@dataclass(frozen=True)
class TrialDirectory:
    """One trial, whole or failed."""

    path: Path
    meta: Mapping[str, Any] = field(repr=False)  # trial.json: JSON has no narrower type

    @property
    def name(self) -> str:
        """The folder's name, which orders trials as they ran."""
        return self.path.name

    @property
    def is_whole(self) -> bool:
        """Whether the trial ended as planned."""
        return bool(self.meta.get("status") == "whole")

    @property
    def packets(self) -> Path:
        """One row a packet."""
        return self.path / "packets.parquet"

    @property
    def gaps(self) -> Path:
        """One row a loop iteration above the threshold, generator's and forwarder's."""
        return self.path / "gaps.parquet"

    @property
    def histogram(self) -> Path:
        """One row a bucket of a series."""
        return self.path / "histogram.parquet"


@dataclass(frozen=True)
class RunDirectory:
    """One run."""

    path: Path

    def manifest(self) -> dict[str, Any]:
        """Give the parsed manifest.json."""
        return self._manifest

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        return read_json(self.path / "manifest.json")

    @property
    def trials_path(self) -> Path:
        """The folder of the trials."""
        return self.path / "trials"

    def trials(self) -> list[TrialDirectory]:
        """Every finished trial, whole and failed, in the order they ran."""
        if not self.path.is_dir():
            raise InputError(f"{self.path}: no such run directory; give one that `taut run` wrote")
        found = sorted(
            path
            for path in self.trials_path.glob("*")
            if not path.name.startswith(TEMPORARY_PREFIX) and (path / "trial.json").is_file()
        )
        return [TrialDirectory(path, read_json(path / "trial.json")) for path in found]

    def some_trials(self) -> list[TrialDirectory]:
        """Give the trials; InputError: there is none, so it is no run directory."""
        found = self.trials()
        if not found:
            raise InputError(
                f"{self.path}: no trials; give a run directory of `taut run` or `taut analyze`"
            )
        return found


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object that taut wrote; say which file when it is not one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: not found; is this a run directory of taut?") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not JSON ({error}); the file is damaged") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: not a JSON object; the file is damaged")
    return document
