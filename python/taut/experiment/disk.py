"""Whether there is room on the disk for what is about to be measured."""

import shutil
from collections.abc import Callable
from pathlib import Path

from taut.core.errors import InputError
from taut.core.units import bytes_words
from taut.experiment.plan import Plan
from taut.experiment.room import disk_bytes
from taut.records.rundir import RunDirectory

RECORD_LESS = "make room, give another --out, or record less: --set record=tail"

Warn = Callable[[str], None]


def free_at(out: Path) -> tuple[Path, int]:
    """Give the folder that is there of where a run goes, and how many bytes are free in it."""
    folder = next(path for path in (out.absolute(), *out.absolute().parents) if path.is_dir())
    return folder, shutil.disk_usage(folder).free


def refuse_full_disk(plan: Plan, out: Path, warn: Warn) -> None:
    """InputError: there is no room for half of what the missing trials take, about.

    Where there is room for half, but not for all, `warn` is told: it is a guess.
    """
    run = RunDirectory(out)
    missing = [trial for trial in plan.trials if not run.has_whole(trial.name)]
    wanted = sum(disk_bytes(missing))
    folder, free = free_at(out)
    if wanted <= free:
        return
    sizes = f"about {bytes_words(wanted)}, but only {bytes_words(free)} are free"
    said = f"{folder}: the run takes {sizes}; {RECORD_LESS}"
    if wanted > 2 * free:
        raise InputError(said)
    warn(f"warning: {said}")
