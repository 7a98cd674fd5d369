"""Runs of `taut analyze` whose captures are searched by content together with a new one."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taut.core.errors import InputError
from taut.records.documents.match import MatchReport
from taut.records.tables import HEADS

if TYPE_CHECKING:  # a pair by itself needs no run directory, whose documents take long to load
    from taut.records.rundir import TrialDirectory


def find_companions(runs: Sequence[Path]) -> "list[TrialDirectory]":
    """Give the captures of the runs; InputError for a run without any, or with one given twice."""
    if not runs:
        return []
    from taut.records.rundir import RunDirectory

    found: list[TrialDirectory] = []
    for path in runs:
        trials = [
            t for t in RunDirectory(path).trials() if t.is_whole and t.meta.capture is not None
        ]
        if not trials:
            raise InputError(f"--with {path}: holds no captures; give a run of `taut analyze`")
        for trial in trials:
            if not (trial.path / HEADS).is_file():
                raise InputError(
                    f"--with {path}: keeps no heads of its frames (not searched by content, or by "
                    "an earlier version); analyse its captures again"
                )
            if trial.meta.capture is not None:
                refuse_twice(trial.meta.capture, found)
            found.append(trial)
    return found


def kept_frames(trials: "Sequence[TrialDirectory]") -> list[Path]:
    """The files to search together with a new capture."""
    return [trial.path / HEADS for trial in trials]


def refuse_twice(report: MatchReport, companions: "Sequence[TrialDirectory]") -> None:
    """InputError where the capture that taut-match reported on is one of the companions."""
    for other in companions:
        if other.meta.capture and _identity(report) == _identity(other.meta.capture):
            raise InputError(
                f"--with {other.path.parent.parent}: holds the same capture, and searching it "
                "twice proves nothing; give another capture of the device"
            )


def _identity(report: MatchReport) -> tuple[int, int, int]:
    """Give frames, first and last stamp of the ingress file, which no other capture shares."""
    ingress = report.ingress
    return ingress.frames, ingress.first_ns, ingress.last_ns
