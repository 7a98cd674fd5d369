"""`taut trend RUN...`: one experiment over time: medians and tails, and where a median stepped."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taut.cli.options import ImagesOption, JsonOption, WithoutVoidOption
from taut.core.errors import InputError
from taut.records.documents.load import LOOPBACK
from taut.records.documents.manifest import MANIFEST_FILE

if TYPE_CHECKING:
    from taut.records.rundir import RunDirectory

EXAMPLES = (
    "taut trend runs",
    "taut trend runs/first runs/second --out trend.html",
)


def trend(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run directories of one experiment, or a folder of them."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML page here.")
    ] = None,
    images: ImagesOption = False,
    without_void: WithoutVoidOption = False,
    as_json: JsonOption = False,
) -> None:
    """Follow one experiment over many runs: what changed, and since which run a median differs."""
    if images and out is None:
        raise InputError("--images: they lie beside a page; give its file with --out")
    paths = list(_run_paths(runs))
    # Here, not above: `-h` needs none of it.
    from rich.console import Console

    from taut.analysis.pairing import read_analysis
    from taut.analysis.trend import is_of_one_experiment, trend_of
    from taut.records.documents.json_form import plain
    from taut.records.rundir import RunDirectory
    from taut.report.run_names import run_names
    from taut.report.trend import changes_of, document, print_trend
    from taut.report.trend_page import write_trend

    for path in paths:
        if path in runs:
            RunDirectory(path).some_trials()
    directories = sorted(
        (RunDirectory(path) for path in paths),
        key=lambda run: (run.manifest().started_utc, str(run.path)),
    )
    candidates = _of_one_name(directories, runs)
    _check([run.path for run in candidates], runs[0])
    analysed = []
    for run in candidates:
        with Console(stderr=True).status(f"reading {run.path}"):
            analysed.append((run, read_analysis(run)))
    analysed = [
        (run, analysis)
        for run, analysis in analysed
        if run.path in runs or is_of_one_experiment(analysis, analysed[-1][1])
    ]
    if len(analysed) < len(directories):
        _say_left_out(len(directories) - len(analysed), analysed[-1][0].manifest().spec.name)
    _check([run.path for run, _ in analysed], runs[0])
    names = run_names(analysed)
    found = trend_of(analysed, names, without_void=without_void)
    changes = changes_of(analysed, names)
    if out is not None:
        write_trend(found, changes, out, images=images)
    if as_json:
        json.dump(plain(document(found, changes, out)), sys.stdout)
        sys.stdout.write("\n")
    else:
        print_trend(found, changes, Console(), out)


def _run_paths(named: Sequence[Path]) -> Iterator[Path]:
    """Give run directories; for a folder of them those in it. A path that is no folder as it is."""
    for path in named:
        inside = sorted(manifest.parent for manifest in path.glob(f"*/{MANIFEST_FILE}"))
        yield from inside if inside and not (path / MANIFEST_FILE).is_file() else [path]


def _of_one_name(
    directories: "Sequence[RunDirectory]", named: Sequence[Path]
) -> "list[RunDirectory]":
    """Leave out what a folder holds of other names than its newest run's.

    So, too, older runs that measured no device.
    """
    own = [run for run in directories if run.path in named or any(t.is_whole for t in run.trials())]
    if not own:
        return []
    newest = own[-1]
    name = newest.manifest().spec.name
    return [
        run
        for run in own
        if run.path in named
        or (run.manifest().spec.name == name and (run is newest or _is_measured(run)))
    ]


def _say_left_out(n: int, name: str | None) -> None:
    words = "1 run" if n == 1 else f"{n} runs"
    print(
        f"taut: left out: {words} that measured no device of {name} under one of its loads",
        file=sys.stderr,
    )


def _is_measured(run: "RunDirectory") -> bool:
    """Whether a trial of a device is whole, or of a floor where there is no device."""
    trials = run.trials()
    devices = [trial for trial in trials if trial.meta.dut.driver != LOOPBACK]
    return any(trial.is_whole for trial in devices or trials)


def _check(paths: Sequence[Path], first: Path) -> None:
    """InputError: fewer than two runs, or one of them twice."""
    if len(paths) < 2:
        raise InputError(
            f"{first}: one run, or a folder without two of one experiment; a trend takes two and "
            "more, `taut runs` lists what there is"
        )
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise InputError(f"{path}: the same run twice; name each once")
        seen.add(path.resolve())
