"""Under which conditions a run was measured: what a reader needs before comparing numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from taut.report import cells

Conditions = list[tuple[str, str]]


def conditions_of(manifest: Mapping[str, Any], trials: Sequence[Mapping[str, Any]]) -> Conditions:
    """Name and value of every condition known."""
    found: Conditions = []
    found += [("path", "; ".join(_distinct(f"{t['dut']}: {t['path']}" for t in trials)))]
    found += [("cores", "; ".join(_distinct(_cores(t["cores"] or {}) for t in trials)))]
    found += [("traffic", "; ".join(_distinct(_traffic(t) for t in trials)))]
    found += [("trace", "; ".join(_distinct(_trace(t.get("trace") or {}) for t in trials)))]
    found += [("notes", "; ".join(_distinct(note for t in trials for note in t["notes"])))]
    found += [("resolution", "; ".join(_distinct(t.get("resolution") or "" for t in trials)))]
    found += [("started", str(manifest.get("started_utc", "")))]
    tool = manifest.get("taut") or {}
    found += [("taut", " ".join(str(x) for x in (tool.get("version"), _commit(tool)) if x))]
    for section in ("host", "seeds"):
        found += _flat(section, manifest.get(section) or {})
    return [(name, value) for name, value in found if value]


def _distinct(values: Any) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def _cores(cores: Mapping[str, Any]) -> str:
    if not cores:
        return ""
    words = f"generator {_list(cores.get('generator'))}, device {_list(cores.get('device'))}"
    return words + (" (shared)" if cores.get("shared") else "")


def _trace(trace: Mapping[str, Any]) -> str:
    why_not = trace.get("why_not")
    return f"{trace.get('mode', '')}: {why_not}" if why_not else str(trace.get("mode") or "")


def _list(values: object) -> str:
    if isinstance(values, list | tuple):
        return ",".join(str(v) for v in values) or "none"
    return "none" if values is None else str(values)


def _traffic(trial: Mapping[str, Any]) -> str:
    if trial["duration_ns"] is None:
        return ""
    both = ", both directions" if trial["both"] else ""
    if trial.get("capture"):
        skipped = cells.time(trial["capture"]["skip_ns"])
        return (
            f"captured, {cells.time(trial['duration_ns'])}, warm-up {skipped}, key "
            f"{trial['capture']['key']}, window {cells.time(trial['capture']['window_ns'])}"
        )
    return (
        f"{trial['schedule']}, {trial['frame']} B, {cells.count(trial['flows'])} flows{both}, "
        f"{cells.time(trial['duration_ns'])} a trial"
    )


def _commit(tool: Mapping[str, Any]) -> str:
    git = tool.get("git") or {}
    if not git:
        return ""
    return f"({str(git.get('commit'))[:12]}{', modified' if git.get('modified') else ''})"


def _flat(name: str, value: object) -> Conditions:
    """One line for each scalar below `value`, named by its path."""
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in _flat(f"{name}.{key}", inner)]
    if isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping) for inner in value):
            return [p for i, inner in enumerate(value) for p in _flat(f"{name}.{i}", inner)]
        return [(name, ", ".join(str(inner) for inner in value))]
    return [] if value is None else [(name, str(value))]
