"""A made-up run directory of a soak: a segment that was whole, and one that was killed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from made_calm import CALM
from made_run import MadeVariant, make_run
from made_soak import SECOND_NS, segment
from taut.records.documents.soak import Row
from taut.records.live import Fresh
from taut.records.segments import SegmentWriter


def make_soak_run(path: Path, whole: Sequence[Row], killed: Sequence[Row] = ()) -> Path:
    """Write a soak of a day that ended early; the killed segment has rows and no trial."""
    make_run(path, (MadeVariant("eager", "taut_forward", CALM),), repetitions=1)
    [trial] = path.glob("trials/*")
    meta = json.loads((trial / "trial.json").read_text())
    meta["traffic"] |= {"duration_ns": 86_400 * SECOND_NS, "record": "tail"}
    (trial / "trial.json").write_text(json.dumps(meta))
    write_segment(path, trial.name, whole)
    if killed:
        write_segment(path, "001-eager-bare-constant-64-100kpps-r2", killed)
    return path


def write_segment(run: Path, trial: str, rows: Sequence[Row], *, is_control: bool = False) -> None:
    """Write what a segment keeps beside its trial."""
    start = replace(segment([]).start, trial=trial, is_control=is_control)
    writer = SegmentWriter(run / "soak" / trial, start)
    seen = Fresh(np.array([5]), np.array([10], np.uint64))
    for row in rows:
        writer.add(row, seen, seen)
    writer.close()
