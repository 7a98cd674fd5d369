"""`taut runs [DIR]`: what was measured here, the newest first."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.options import JsonOption
from taut.core.errors import InputError
from taut.records.documents.json_form import plain, plain_object, read_document
from taut.records.documents.results import SUMMARY_FILE, Verdict
from taut.records.rundir import RunDirectory
from taut.report.paragraph import print_paragraph

EXAMPLES = (
    "taut runs",
    "taut runs runs --json",
)


@dataclass(frozen=True)
class Found:
    """What `taut runs` prints of one run directory."""

    run: str
    started_utc: str
    name: str
    devices: tuple[str, ...]
    n_whole: int
    n_planned: int
    verdict: str | None
    """One sentence; None: the run was not analysed."""
    damage: str | None = None
    """Why a file of it cannot be read; None: all can."""

    @property
    def outcome(self) -> str:
        """The verdict; before it, what is damaged or missing."""
        if self.damage is not None:
            return f"damaged: {self.damage}"
        if self.n_whole < self.n_planned:
            missing = f"incomplete: {self.n_whole} of {self.n_planned} trials"
            return missing if self.verdict is None else f"{missing}. {self.verdict}"
        return self.verdict or f"not analysed: taut report {self.run}"


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that holds run directories.")
    ] = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """List what was measured here, the newest first: when, what, and what was found."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; `taut run` and `taut quick` make runs/")
    found = sorted(find_runs(folder), key=lambda run: run.started_utc, reverse=True)
    if as_json:
        documents = [plain_object(run) | {"outcome": run.outcome} for run in found]
        print(json.dumps(plain({"format": 1, "runs": documents}), indent=1))
        return
    console = Console()
    for run in found:
        devices = ", ".join(run.devices) or "no device"
        print_paragraph(console, f"{run.run}  {_local(run.started_utc)}", style="bold")
        print_paragraph(console, f"{run.name}: {devices}", "  ")
        print_paragraph(console, run.outcome, "  ")
        console.print()
    n = len(found)
    print_paragraph(console, f"{n or 'No'} run{'' if n == 1 else 's'} in {folder}.")


def find_runs(folder: Path) -> Iterator[Found]:
    """Read what every run directory in a folder says of itself."""
    for manifest in sorted(folder.glob("*/manifest.json")):
        path = manifest.parent
        try:
            yield _found(RunDirectory(path))
        except InputError as error:
            yield Found(str(path), "", path.name, (), 0, 0, None, damage=str(error))


def _found(run: RunDirectory) -> Found:
    manifest = run.manifest()
    trials = run.trials()
    devices = manifest.spec.device_names
    # Of captures there is no plan: their trials say which device it was.
    named = [trial.meta.dut.name for trial in trials if trial.meta.dut.name is not None]
    summary = run.path / SUMMARY_FILE
    return Found(
        run=str(run.path),
        started_utc=manifest.started_utc,
        name=manifest.spec.name or run.path.name,
        devices=tuple(devices or dict.fromkeys(named)),
        n_whole=sum(trial.is_whole for trial in trials),
        n_planned=len(manifest.order or trials),
        verdict=read_document(Verdict, summary).verdict if summary.is_file() else None,
    )


def _local(started_utc: str) -> str:
    """Give the time of day here: the manifest has UTC."""
    if not started_utc:
        return ""
    return f"{datetime.fromisoformat(started_utc).astimezone():%Y-%m-%d %H:%M}"
