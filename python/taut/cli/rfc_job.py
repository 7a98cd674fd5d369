"""`taut rfc`, the work: the recipe, its report."""

import json
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from taut.cli.progress import TerminalProgress
from taut.cli.rfc_plan import warn_of_no_room
from taut.cli.rfc_words import print_rfc
from taut.cli.run_job import finish
from taut.core.errors import InterruptedRun, TautError
from taut.core.files import write_json
from taut.experiment.interrupt import interruptible
from taut.experiment.model import Spec
from taut.experiment.plan import make_plan
from taut.experiment.preflight import require
from taut.experiment.rfc import carry_out
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import measuring
from taut.records.documents.json_form import plain_object
from taut.records.documents.results import Analysis
from taut.records.documents.rfc import RFC_FILE, Recipe, RfcDocument
from taut.records.rundir import RunDirectory
from taut.report.rfc import problems


@dataclass(frozen=True)
class RfcRun:
    """What is measured by which recipe, and where it goes."""

    spec: Spec
    recipe: Recipe
    out: Path
    origin: Origin


def carry_out_and_report(
    run: RfcRun, *, resume: bool, wait: bool, images: bool, as_json: bool
) -> None:
    """Measure, write rfc.json, analyse and draw; TautError where a device has no throughput."""
    plan = make_plan(run.spec)
    require(plan, sends_it=False)
    if not resume:
        warn_of_no_room(run.spec, run.recipe, run.out)
    with interruptible():
        try:
            with (
                closing(TerminalProgress(is_part=True)) as progress,
                measuring(
                    plan, run.out, resume, progress, run.origin, wait=wait, in_parts=True
                ) as session,
            ):
                document = carry_out(session, run.spec, run.recipe)
        except KeyboardInterrupt:
            raise InterruptedRun(
                f"interrupted; whole trials are kept, go on: --out {run.out} --resume"
            ) from None
        write_json(run.out / RFC_FILE, plain_object(document))
        _report(RunDirectory(run.out), document, images=images, as_json=as_json)
    said = problems(document)
    if said:
        raise TautError("; ".join(said))


def _report(run: RunDirectory, document: RfcDocument, *, images: bool, as_json: bool) -> None:
    found = [document]

    def publish(run: RunDirectory, analysis: Analysis) -> None:
        # Here, not above: measuring starts without the analysis.
        from taut.analysis.rfc import with_figures

        found[0] = with_figures(document, run, analysis)
        write_json(run.path / RFC_FILE, plain_object(found[0]))

    def show(report: Path) -> None:
        if as_json:
            json.dump(plain_object(found[0]), sys.stdout)
            print()
        else:
            print_rfc(found[0], Console(), report)

    finish(run, as_json=as_json, publish=publish, show=show, images=images)
