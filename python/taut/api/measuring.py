"""Measure an experiment from Python: what `taut run` does, without its words."""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from taut.analysis.results import analyse_measured
from taut.api.loaded import Run, load
from taut.core.errors import InputError, telling
from taut.core.files import default_out
from taut.experiment.disk import refuse_full_disk
from taut.experiment.model import Spec
from taut.experiment.plan import make_plan
from taut.experiment.preflight import require
from taut.experiment.progress import Silent
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import run_plan, some_failed
from taut.experiment.spec import parse_spec, read_spec_text
from taut.experiment.toml_text import toml_document, toml_value

Experiment: TypeAlias = str | os.PathLike[str] | Mapping[str, object]
"""An experiment's file, or a dict of what such a file says."""

Say: TypeAlias = Callable[[str], None]


@telling()
def run(
    experiment: Experiment,
    out: str | os.PathLike[str] | None = None,
    *,
    overrides: Mapping[str, object] | None = None,
    only: str | None = None,
    resume: bool = False,
    wait: bool = False,
    report: bool = False,
    say: Say | None = None,
) -> Run:
    """Run an experiment and analyse it; give its run directory, `out` or a new one in runs/.

    `overrides` changes values, as {"duration": "2s"}; `only` is a pattern of trials; `resume`
    completes `out`, and needs it; `wait` waits for another measurement on the same cores;
    `report` draws report.html; `say` gets what the command would print meanwhile, a line each.
    InputError: nothing was measured. TautError: trials failed, the rest is in `out`.
    KeyboardInterrupt passes: whole trials are kept, nothing else is left behind. What [require]
    asks for is not judged.
    """
    if resume and out is None:
        raise InputError("resume: which run? give its directory as out")
    spec, origin = read_experiment(experiment, overrides)
    plan = make_plan(spec)
    if only is not None:
        plan = plan.only(only)
    if not all(trial.host.is_as_found for trial in plan.trials):
        refuse_thread("[[host]]")
    require(plan)
    directory = default_out(spec.name) if out is None else Path(out)
    told = Told(say)
    refuse_full_disk(plan, directory, told.noted)
    measured = run_plan(plan, directory, resume, told, origin, wait=wait)
    analysis = analyse_measured(measured)
    if report:
        # Here, not above: who draws nothing needs no plotting library.
        from taut.report.html import write_html

        write_html([(measured, analysis)], directory / "report.html")
    if analysis.n_failed:
        raise some_failed(analysis.n_failed, directory)
    return load(directory)


def read_experiment(
    experiment: Experiment, overrides: Mapping[str, object] | None
) -> tuple[Spec, Origin]:
    """Read an experiment; the manifest gets it as a file would say it. InputError: it is none."""
    changed = tuple(f"{key}={toml_value(of, key)}" for key, of in (overrides or {}).items())
    if isinstance(experiment, Mapping):
        text, source = toml_document(experiment), "experiment"
    else:
        text, source = read_spec_text(Path(experiment)), os.fspath(experiment)
    spec = parse_spec(text, changed, source, has_lines=not isinstance(experiment, Mapping))
    return spec, Origin(text, source, changed, tuple(sys.argv))


def refuse_thread(what: str) -> None:
    """InputError: this is not the main thread, and only that may delay Ctrl-C, as `what` has to."""
    if threading.current_thread() is not threading.main_thread():
        raise InputError(f"{what}: changes the host, so it needs the main thread; call it there")


class Told(Silent):
    """Passes on warnings and notes."""

    def __init__(self, say: Say | None) -> None:
        self._say = say

    def warned(self, text: str) -> None:
        """Say it as the command does; it is in the manifest, too."""
        self.noted(f"warning: {text}")

    def noted(self, text: str) -> None:
        if self._say is not None:
            self._say(text)
