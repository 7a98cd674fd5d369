"""`taut trim SPEC`: trim for an experiment, by the latency of its packets."""

import json
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

from rich.console import Console

from taut.cli.progress import TerminalProgress
from taut.cli.run_job import finish
from taut.cli.trim_words import print_trim
from taut.core.errors import InterruptedRun, TautError
from taut.core.files import default_out
from taut.experiment.interrupt import interruptible
from taut.experiment.run_manifest import Origin
from taut.experiment.spec import parse_spec
from taut.records.rundir import RunDirectory
from taut.report.paragraph import print_note
from taut.trim.experiment import check_trim, measure_trim, publish_trim, write_trim
from taut.trim.job import Job


def trim_experiment(
    job: Job,
    origin: Origin,
    target: str,
    *,
    budget: str,
    wait: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run its trials in every state of the host; leave a run with a trim.json and a report."""
    spec = parse_spec(origin.text, origin.overrides, source=origin.source)
    check_trim(job, spec, target, budget)
    directory = out or default_out(f"trim-{spec.name}")
    with interruptible():
        try:
            with closing(TerminalProgress(is_part=True)) as progress:
                measure_trim(job, spec, target, directory, progress, origin, wait=wait)
            _report(job, RunDirectory(directory), as_json=as_json)
        except KeyboardInterrupt:
            raise InterruptedRun(
                f"interrupted: {job.host_words}; what was measured is in {directory}"
            ) from None


def _report(job: Job, run: RunDirectory, *, as_json: bool) -> None:
    """Keep what is to be kept, write the report, print."""
    failure = None
    try:
        job.put_in_force(partial(write_trim, job, run.path))
    except TautError as error:
        failure = error  # What was measured is reported all the same.

    def show(report: Path) -> None:
        if as_json:
            json.dump(job.plain(), sys.stdout)
            print()
        else:
            print_trim(job.document, Console(), report, is_dry=job.dry_run)

    n_failed = finish(run, as_json=as_json, publish=partial(publish_trim, job), show=show)
    if n_failed:
        note = f"{n_failed} trials failed; their trial.json and logs say why"
        print_note(Console(stderr=True), note)
    if failure is not None:
        raise failure
