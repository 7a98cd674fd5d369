"""`taut trim SPEC`: trim for an experiment, by the latency of its packets."""

import json
import sys
from contextlib import closing
from pathlib import Path

from rich.console import Console

from taut.cli.options import default_out
from taut.cli.progress import TerminalProgress
from taut.cli.run_job import finish
from taut.cli.trim_job import Job
from taut.cli.trim_words import print_trim
from taut.core.errors import InterruptedRun, TautError
from taut.core.files import write_json
from taut.experiment.interrupt import interruptible
from taut.experiment.plan import make_plan
from taut.experiment.preflight import require
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import measuring
from taut.experiment.spec import parse_spec
from taut.records.documents.results import Analysis
from taut.records.documents.trim import TRIM_FILE
from taut.records.rundir import RunDirectory
from taut.report.paragraph import print_note
from taut.trim.document import with_causes
from taut.trim.looks import LEAST_PAIRS
from taut.trim.packets import PacketsBench, check_target, repetition_seconds


def trim_experiment(
    job: Job,
    origin: Origin,
    target: str,
    *,
    budget: str,
    wait: bool,
    out: Path | None,
) -> None:
    """Run its trials in every state of the host; leave a run with a trim.json and a report."""
    spec = parse_spec(origin.text, origin.overrides, source=origin.source)
    check_target(spec, target)
    one, two = (repetition_seconds(spec, n) for n in (1, 2))
    job.check(budget, one + LEAST_PAIRS * two, "--set duration=1s")
    plan = make_plan(spec, repetitions=range(1, 2))
    require(plan)
    directory = out or default_out(f"trim-{spec.name}")
    with interruptible():
        try:
            with (
                closing(TerminalProgress(is_part=True)) as progress,
                measuring(
                    plan,
                    directory,
                    None,
                    progress,
                    origin,
                    wait=wait,
                    in_parts=True,
                    in_states=True,
                ) as session,
            ):
                job.measure(
                    PacketsBench(session, spec, target),
                    session.states.situation,
                    progress.noted,
                    scouting="The host as found, once, to see what makes its packets late.",
                    target=target,
                    cores=session.cores.to_quiet,
                )
        except KeyboardInterrupt:
            raise InterruptedRun(
                f"interrupted: the host is as it was; what was measured is in {directory}"
            ) from None
        _report(job, RunDirectory(directory))


def _report(job: Job, run: RunDirectory) -> None:
    """Keep what is to be kept, write the report, print."""
    failure = None
    try:
        job.put_in_force()
    except TautError as error:
        failure = error  # What was measured is reported all the same.

    def publish(run: RunDirectory, analysis: Analysis) -> None:
        job.document = with_causes(job.document, analysis.trials)
        write_json(run.path / TRIM_FILE, job.plain())

    def show(report: Path) -> None:
        if job.as_json:
            json.dump(job.plain(), sys.stdout)
            print()
        else:
            print_trim(job.document, Console(), report, is_dry=job.dry_run)

    n_failed = finish(run, as_json=job.as_json, publish=publish, show=show)
    if n_failed:
        print_note(job.notes, f"{n_failed} trials failed; their trial.json and logs say why")
    if failure is not None:
        raise failure
