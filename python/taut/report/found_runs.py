"""The runs of a folder, and what each says of itself: what `taut runs` lists."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from taut.core.errors import InputError
from taut.core.units import length_words
from taut.records.documents.json_form import JsonObject, read_document
from taut.records.documents.results import SUMMARY_FILE, Verdict
from taut.records.documents.soak import SOAK_FILE, SoakDocument
from taut.records.rundir import RunDirectory


@dataclass(frozen=True)
class Found:
    """What `taut runs` says of one run directory."""

    run: str
    started_utc: str
    name: str
    devices: tuple[str, ...]
    n_whole: int
    n_planned: int
    """With those whole trials, and what was planned and has none."""
    verdict: str | None
    """One sentence; None: the run was not analysed."""
    damage: str | None = None
    """Why a file of it cannot be read; None: all can."""
    host: str = ""
    """Processor, kernel and hypervisor of the machine, as far as they are known."""
    soaked: str = ""
    """How much of a soak was measured, where that is not all of it."""

    @property
    def outcome(self) -> str:
        """The verdict; before it, what is damaged or missing."""
        if self.damage is not None:
            return f"damaged: {self.damage}"
        there = f"{self.n_whole} of {self.n_planned} trials"
        if self.soaked or self.n_whole < self.n_planned:
            missing = f"incomplete: {self.soaked or there}"
            return missing if self.verdict is None else f"{missing}. {self.verdict}"
        return self.verdict or f"not analysed: taut report {self.run}"


def find_runs(folder: Path) -> Iterator[Found]:
    """Read what every run directory in a folder says of itself."""
    for manifest in sorted(folder.glob("*/manifest.json")):
        yield found_run(manifest.parent)


def found_run(path: Path) -> Found:
    """Read what a run directory says of itself; what cannot be read is its damage."""
    try:
        return _found(RunDirectory(path))
    except InputError as error:
        return Found(str(path), "", path.name, (), 0, 0, None, damage=str(error))


def _found(run: RunDirectory) -> Found:
    manifest = run.manifest()
    trials = run.trials()
    devices = manifest.spec.device_names
    # Of captures there is no plan: their trials say which device it was.
    soak_file = run.path / SOAK_FILE
    soak = read_document(SoakDocument, soak_file) if soak_file.is_file() else None
    whole = [trial.name for trial in trials if trial.is_whole]
    planned = manifest.order or [trial.name for trial in trials]
    missing = {_planned(name) for name in planned} - {_planned(name) for name in whole}
    named = [trial.meta.dut.name for trial in trials if trial.meta.dut.name is not None]
    summary = run.path / SUMMARY_FILE
    return Found(
        run=str(run.path),
        started_utc=manifest.started_utc,
        name=manifest.spec.name or run.path.name,
        devices=tuple(devices or dict.fromkeys(named)),
        n_whole=len(whole),
        # A segment that was killed has no trial, and another one measured what was left.
        n_planned=len(whole) + (0 if soak else len(missing)),
        verdict=read_document(Verdict, summary).verdict if summary.is_file() else None,
        host=_host_words(manifest.host),
        soaked=_soaked(soak),
    )


def _planned(trial: str) -> str:
    """Name what was planned without the number of the attempt: a search repeats failed ones."""
    return trial.lstrip("0123456789")


def _soaked(soak: SoakDocument | None) -> str:
    if soak is None:
        return ""
    planned = length_words(soak.planned_ns)
    if soak.is_short:
        return f"{length_words(soak.course.measured_ns)} of {planned}"
    if soak.control is not None and soak.is_control_short:
        return f"{length_words(soak.control.measured_ns)} of {planned} of the control"
    return ""


def _host_words(host: JsonObject) -> str:
    cpu, hypervisor = host.get("cpu"), host.get("hypervisor")
    model = cpu.get("model") if isinstance(cpu, Mapping) else None
    kernel = f"Linux {host['kernel']}" if host.get("kernel") else None
    guest = f"guest of {hypervisor}".removesuffix(" of unknown") if hypervisor else None
    return ", ".join(str(part) for part in (model, kernel, guest) if part)
