"""`taut search`, the work: the search, its report."""

import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from taut.analysis.load import share_words
from taut.cli.progress import TerminalProgress
from taut.cli.run_job import finish
from taut.cli.search_words import print_search
from taut.core.errors import InterruptedRun, TautError
from taut.core.files import write_json
from taut.experiment.capacity import search_capacity
from taut.experiment.interrupt import interruptible
from taut.experiment.loads import to_search
from taut.experiment.model import Spec
from taut.experiment.plan import make_plan
from taut.experiment.preflight import require
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import measuring
from taut.records.documents.json_form import plain_object
from taut.records.documents.results import Analysis
from taut.records.documents.search import SEARCH_FILE, SearchDocument
from taut.records.rundir import RunDirectory
from taut.report.search import GO_ON, devices_of, names_of, stopped_floors, unmet_words


def search_and_report(
    spec: Spec,
    out: Path,
    origin: Origin,
    *,
    resume: bool,
    wait: bool,
    images: bool,
    as_json: bool,
) -> None:
    """Search, write search.json, analyse and draw; TautError where a device met no goal at all."""
    to_search(spec)
    plan = make_plan(spec)
    require(plan, sends_it=False)
    with interruptible():
        try:
            with (
                closing(TerminalProgress(is_part=True)) as progress,
                measuring(plan, out, resume, progress, origin, wait=wait, in_parts=True) as session,
            ):
                document = search_capacity(session, spec)
        except KeyboardInterrupt:
            raise InterruptedRun(
                f"interrupted; whole trials are kept, go on: --out {out} --resume"
            ) from None
        write_json(out / SEARCH_FILE, plain_object(document))
        _report(RunDirectory(out), document, images=images, as_json=as_json)
    problems = list(_problems(document))
    if problems:
        raise TautError("; ".join(problems))


def _report(run: RunDirectory, document: SearchDocument, *, images: bool, as_json: bool) -> None:
    found = [document]

    def publish(run: RunDirectory, analysis: Analysis) -> None:
        found[0] = with_latency(document, analysis)
        write_json(run.path / SEARCH_FILE, plain_object(found[0]))

    def show(report: Path) -> None:
        if as_json:
            json.dump(plain_object(found[0]), sys.stdout)
            print()
        else:
            print_search(found[0], Console(), report)

    finish(run, as_json=as_json, publish=publish, show=show, images=images)


def with_latency(document: SearchDocument, analysis: Analysis) -> SearchDocument:
    """Add percentiles at shares of the bound, of the repetitions pooled."""
    variants = {name: variant for variant in analysis.variants for name in variant.trials}
    searches = []
    for one in document.searches:
        latency = []
        for at in one.latency:
            variant = next((variants[name] for name in at.trials if name in variants), None)
            if variant is not None:
                of = variant.latency
                at = replace(
                    at,
                    p50_ns=of.p50_ns,
                    p99_ns=of.percentiles_ns["p99"],
                    p99_9_ns=of.percentiles_ns["p99.9"],
                    max_ns=of.max_ns,
                    unsupported_percentiles=variant.doubt.unsupported_percentiles,
                    void_share=variant.void_share,
                    instrument_limited=variant.instrument_limited,
                )
            latency.append(at)
        searches.append(replace(one, latency=tuple(latency)))
    return replace(document, searches=tuple(searches))


def _problems(document: SearchDocument) -> list[str]:
    """Say of each loopback and device why it has no answer; what was measured stays."""
    found = stopped_floors(document.searches)
    searches = devices_of(document)
    for name, one in zip(names_of(searches), searches, strict=True):
        if one.stopped is not None:
            found.append(f"{name}: {one.stopped}; {GO_ON}")
            continue
        why: dict[str, list[str]] = {}
        for of in one.found:
            if (unmet := unmet_words(of, one.min_pps)) is not None:
                why.setdefault(unmet, []).append(of.goal)
        found += [f"{name}: {', '.join(goals)}: {unmet}" for unmet, goals in why.items()]
        missing = [share_words(at.share) for at in one.latency if not at.trials]
        if missing:
            found.append(
                f"{name}: no latency at {', '.join(missing)} of the bound: trials failed; "
                "their trial.json says why"
            )
    return found
