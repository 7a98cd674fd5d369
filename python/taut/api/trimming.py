"""Trim a host from Python, for an experiment: what `taut trim` does, without its words."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from taut.analysis.results import analyse_measured
from taut.api import Document
from taut.api.measuring import Experiment, Say, Told, read_experiment, refuse_thread
from taut.core.errors import telling
from taut.core.files import default_out
from taut.records.rundir import RunDirectory
from taut.report.html import write_html
from taut.trim.experiment import check_trim, measure_trim, publish_trim, write_trim
from taut.trim.job import Job, request_for


@telling()
def trim(
    experiment: Experiment,
    out: str | os.PathLike[str] | None = None,
    *,
    overrides: Mapping[str, object] | None = None,
    target: str = "p99.9",
    profile: str = "recommended",
    only: str | None = None,
    budget: str = "10m",
    keep: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    wait: bool = False,
    say: Say | None = None,
) -> Document:
    """Find which settings of this host make the tail shorter; give trim.json, which `out` has, too.

    Nobody is asked: without `yes` only `dry_run`, which measures and changes nothing, is done. The
    host is as it was at the end, unless `keep`. InputError: nothing was changed. TautError: what
    was to be kept could not be put in force; the run is whole.
    """
    if not dry_run:
        refuse_thread("trim")
    spec, origin = read_experiment(experiment, overrides)
    job = Job(request_for(profile, only, budget), keep=keep, yes=yes, dry_run=dry_run)
    check_trim(job, spec, target, budget)
    directory = default_out(f"trim-{spec.name}") if out is None else Path(out)
    measure_trim(job, spec, target, directory, Told(say), origin, wait=wait)
    run = RunDirectory(directory)
    try:
        job.put_in_force(partial(write_trim, job, directory))
    finally:
        analysis = analyse_measured(run)
        publish_trim(job, run, analysis)
        write_html([(run, analysis)], directory / "report.html")
    return job.plain()
