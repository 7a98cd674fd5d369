"""Under which conditions a run was measured: what a reader needs before comparing numbers."""

from collections.abc import Iterable, Mapping, Sequence

from taut.analysis.load import frame_words
from taut.core.version import is_of_device_alone
from taut.records.documents.manifest import Manifest, Tool
from taut.records.documents.results import TrialResult
from taut.records.documents.trial import CoresOfTrial
from taut.report import cells
from taut.report.energy import energy_words

Conditions = list[tuple[str, str]]

OF_DEVICE = "device "
"""Begins the name of a condition that is a device's version."""


def conditions_of(manifest: Manifest, trials: Sequence[TrialResult]) -> Conditions:
    """Name and value of every condition known."""
    found: Conditions = []
    found += [("path", "; ".join(_distinct(_path(t) for t in trials)))]
    found += [("cores", "; ".join(_distinct(_cores(t.cores) for t in trials)))]
    found += [("traffic", "; ".join(_distinct(_traffic(t) for t in trials)))]
    found += [("trace", "; ".join(_distinct(_trace(t) for t in trials)))]
    found += [("notes", "; ".join(_distinct(note for t in trials for note in t.notes)))]
    found += [("energy", energy_words(trials))]
    resolutions = (t.figures.resolution for t in trials if t.figures is not None)
    found += [("resolution", "; ".join(_distinct(resolutions)))]
    found += [("started", manifest.started_utc)]
    tool = manifest.taut
    found += [("taut", " ".join(x for x in (tool.version, _commit(tool)) if x))]
    found += [*_versions(trials, tool).items()]
    plugins = dict.fromkeys((*manifest.plugins, *(manifest.analysed_with or ())))
    found += [(f"plug-in {of.table}.{of.name}", f"{of.package} {of.version}") for of in plugins]
    found += _flat("inputs", manifest.inputs)
    found += _flat("host", manifest.host)
    found += _flat("seeds", manifest.seeds)
    return [(name, value) for name, value in found if value]


def _distinct(values: Iterable[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def _path(trial: TrialResult) -> str:
    """Which way packets took; nothing of a trial that failed before its device had one."""
    return f"{trial.device.dut}: {trial.device.path}" if trial.device.path else ""


def _versions(trials: Sequence[TrialResult], tool: Tool) -> dict[str, str]:
    """Give the versions of each device, by its name; taut's and the kernel's have lines already."""
    found: dict[str, list[str]] = {}
    for device in (trial.device for trial in trials if not trial.device.is_floor):
        if is_of_device_alone(device.dut_version, tool.version):
            found.setdefault(f"{OF_DEVICE}{device.named}", []).append(str(device.dut_version))
    return {name: "; ".join(_distinct(versions)) for name, versions in found.items()}


def _cores(cores: CoresOfTrial | None) -> str:
    if cores is None:
        return ""
    words = f"generator {_core(cores.generator)}, device {_core(cores.device)}"
    return words + (" (shared)" if cores.shared else "")


def _core(core: int | None) -> str:
    return "none" if core is None else str(core)


def _trace(trial: TrialResult) -> str:
    trace = trial.trace
    if trace is None or trace.mode is None:
        return ""
    if trace.why_not:
        return f"{trace.mode}: {trace.why_not}"
    # A tail's threshold is one of all packets: the report explains nothing without them.
    if trial.figures is not None and not trial.figures.every_packet:
        return f"{trace.mode} (slow packets alone are recorded: `taut explain` tells their causes)"
    return trace.mode


def _traffic(trial: TrialResult) -> str:
    if trial.duration_ns is None:
        return ""
    load, capture = trial.load, trial.capture
    if capture is not None:
        return (
            f"captured, {cells.time(trial.duration_ns)}, warm-up {cells.time(capture.skip_ns)}, "
            f"key {capture.key}, window {cells.time(capture.window_ns)}"
        )
    both = ", both directions" if load.both else ""
    flows = "1 flow" if load.flows == 1 else f"{cells.count(load.flows)} flows"
    return (
        f"{load.schedule}, {frame_words(load.frame)}, {flows}{both}, "
        f"{cells.time(trial.duration_ns)} a trial"
    )


def _commit(tool: Tool) -> str:
    if tool.git is None:
        return ""
    return f"({tool.git.commit[:12]}{', modified' if tool.git.modified else ''})"


def _flat(name: str, value: object) -> Conditions:
    """One line for each scalar below `value`, named by its path."""
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in _flat(f"{name}.{key}", inner)]
    if isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping) for inner in value):
            return [p for i, inner in enumerate(value) for p in _flat(f"{name}.{i}", inner)]
        return [(name, ", ".join(str(inner) for inner in value))]
    return [] if value is None else [(name, str(value))]
