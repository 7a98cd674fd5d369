"""`taut trim --pid PID`: trim for a program that taut does not load, by its stalls alone."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from taut.cli.options import parse_cores
from taut.cli.progress import TerminalProgress
from taut.cli.trim_words import print_trim
from taut.core.errors import InputError, InterruptedRun, TautError
from taut.core.files import default_out, write_json
from taut.experiment.interrupt import interruptible
from taut.explain.window import check_length
from taut.host.host import Host
from taut.records.documents.json_form import JsonObject, plain, plain_object
from taut.records.documents.trim import BY_STALLS, TRIM_FILE, WINDOWS_FILE, WindowsOfTrim
from taut.records.rundir import AS_FOUND, TRIMMED
from taut.trim.job import Job
from taut.trim.looks import LEAST_PAIRS
from taut.trim.stalls import (
    StallsBench,
    Window,
    compared_causes,
    new_seed,
    scouting_seconds,
    seconds_of,
)
from taut.trim.watched import find_process, never_tried, situation_of, watching


def trim_process(
    job: Job,
    pid: int,
    *,
    cores: str | None,
    budget: str,
    window_ns: int,
    wait: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Watch the process in windows, in every state of the host; leave trim.json."""
    check_length("--window", window_ns)
    host = Host()
    least_s = scouting_seconds(window_ns) + LEAST_PAIRS * seconds_of(window_ns, 2)
    job.check(budget, least_s, "--window 500ms")
    left_out = never_tried(host)
    _refuse_nothing(job.request.only, left_out)
    process = find_process(host, pid, parse_cores(cores))
    job.request = replace(job.request, without=tuple(left_out))
    folder = out or default_out(f"trim-pid-{pid}")
    seed = new_seed()

    kept = Kept(folder, WindowsOfTrim(process.document(), seed, window_ns, ()))

    with interruptible():
        try:
            with (
                closing(TerminalProgress(is_part=True)) as progress,
                watching(
                    process, folder, progress, seed=seed, command_line=tuple(sys.argv), wait=wait
                ) as watch,
            ):
                bench = StallsBench(watch, window_ns, seed, kept.so_far)
                job.measure(
                    bench,
                    lambda: situation_of(watch.host, process),
                    progress.noted,
                    scouting="The host as found, to see what takes the process's cores.",
                    target="stalled, per second",
                    cores=process.cores,
                )
                _told_by_stalls(job, bench, left_out)
                kept.whole(job.plain())
            _report(job, kept, as_json=as_json)
        except KeyboardInterrupt:
            raise InterruptedRun(
                f"interrupted: {job.host_words}; what was measured is in {folder}"
            ) from None


def _refuse_nothing(only: Sequence[str] | None, left_out: Mapping[str, str]) -> None:
    """InputError: all that was named is left out, so that every window would be as found."""
    tried = [name for name in only or () if not {name, f"{name}-now"} & left_out.keys()]
    if only and not tried:
        why = "; ".join(left_out.values()).removesuffix(".")
        raise InputError(f"--only {','.join(only)}: {why}")


@dataclass
class Kept:
    """What stands in the folder: windows.json while the process is watched, at the end trim.json.

    So what an interrupt leaves is no trim that lacks its result.
    """

    folder: Path
    windows: WindowsOfTrim

    def so_far(self, windows: Sequence[Window]) -> None:
        """Write all windows so far."""
        parts = tuple(window.document() for window in windows)
        self.windows = replace(self.windows, windows=parts)
        write_json(self.folder / WINDOWS_FILE, plain_object(self.windows))

    def document(self, result: JsonObject) -> JsonObject:
        """Give windows and result as one document."""
        return {**plain_object(self.windows), **result}

    def whole(self, result: JsonObject) -> None:
        """Write windows and result as one document."""
        write_json(self.folder / TRIM_FILE, plain(self.document(result)))
        (self.folder / WINDOWS_FILE).unlink(missing_ok=True)


def _report(job: Job, kept: Kept, *, as_json: bool) -> None:
    """Keep what is to be kept, and print."""
    failure = None
    try:
        job.put_in_force(lambda: kept.whole(job.plain()))
    except TautError as error:
        failure = error  # What was measured is reported all the same.
    if as_json:
        json.dump(plain(kept.document(job.plain())), sys.stdout)
        print()
    else:
        print_trim(job.document, Console(), kept.folder / TRIM_FILE, is_dry=job.dry_run)
    if failure is not None:
        raise failure


def _told_by_stalls(job: Job, bench: StallsBench, left_out: Mapping[str, str]) -> None:
    """Say in the document what was measured, what was never tried, and the causes of stalls."""
    found = job.document
    job.document = replace(
        found,
        by=BY_STALLS,
        notes=(*found.notes, *left_out.values()),
        causes=tuple(compared_causes(bench.windows, AS_FOUND, TRIMMED)) or found.causes,
    )
