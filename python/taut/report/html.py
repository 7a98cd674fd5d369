"""The report: one HTML file that opens offline, and every figure as SVG and PNG beside it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from taut.analysis.compare import Comparison
from taut.analysis.load import load_of, load_words, loads_in_order
from taut.analysis.metrics import METRICS
from taut.analysis.pairing import AnalysedRun
from taut.analysis.results import analyse_run
from taut.analysis.statistics import PERCENTILES, SUPPORT
from taut.core.files import write_whole
from taut.records.rundir import RunDirectory
from taut.report import captures, cells, comparison, explanation, host
from taut.report.chart import as_spec, javascript, write_images
from taut.report.conditions import conditions_of
from taut.report.figure import Figure
from taut.report.figures import FIGURES
from taut.report.palette import DARK, LIGHT, cause_styles
from taut.report.scene import Scene, make_scenes

# Under the loads after the first only these are drawn, folded: the file must stay small.
_FIGURES_OF_OTHER_LOADS = ("improvement", "percentiles", "tail_by_cause", "histogram")
_WORST_EPISODES = 20


@dataclass(frozen=True)
class Drawn:
    """A figure of the report."""

    id: str
    figure: Figure
    spec: Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """One load: its table rows and figures."""

    scene: Scene
    figures: Sequence[Drawn]


def write_report(runs: Sequence[RunDirectory], out: Path, engine_name: str = "duckdb") -> Path:
    """Analyse the runs and write their report; figures/ comes beside it."""
    return write_html([(run, analyse_run(run, engine_name)) for run in runs], out)


def write_html(runs: Sequence[AnalysedRun], out: Path, compared: Comparison | None = None) -> Path:
    """Write the report of analysed runs to `out`, and figures/ beside it.

    With `compared` it opens with what the comparison of two runs shows.
    """
    variants = [row for _, document in runs for row in document["variants"]]
    pairs = compared.pairs if compared else ()
    scenes = [
        replace(scene, pairs=[pair for pair in pairs if load_of(pair.a) == scene.load])
        for scene in make_scenes(runs, loads_in_order(variants))
    ]
    sections = [_section(scene, is_main=i == 0, number=i) for i, scene in enumerate(scenes)]
    out.parent.mkdir(parents=True, exist_ok=True)
    _write_images(sections, out.parent / "figures")
    write_whole(out, _page(runs, sections, compared))
    return out


def _section(scene: Scene, *, is_main: bool, number: int) -> Section:
    drawn = []
    for figure in FIGURES:
        if not is_main and figure.id not in _FIGURES_OF_OTHER_LOADS:
            continue
        chart = figure.draw(scene)
        if chart is not None:
            name = figure.id if is_main else f"{figure.id}-{number + 1}"
            drawn.append(Drawn(name, figure, as_spec(chart)))
    return Section(scene, drawn)


def _write_images(sections: Sequence[Section], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for section in sections:
        for drawn in section.figures:
            write_images(drawn.spec, folder / drawn.id)


def _page(
    runs: Sequence[AnalysedRun], sections: Sequence[Section], compared: Comparison | None
) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "time": cells.time,
        "count": cells.count,
        "class_row": captures.class_row,
        "content_rows": captures.content_rows,
    }
    template = environment.from_string(_asset("report.html.j2"))
    return template.render(
        version=metadata.version("taut"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        title=" and ".join(run.path.resolve().name for run, _ in runs),
        runs=[_run(run, document) for run, document in runs],
        sections=sections,
        compared=compared,
        comparison=comparison,
        cells=cells,
        captures=[t for _, document in runs for t in captures.captures_of(document["trials"])],
        words=captures,
        traced=[t for _, document in runs for t in explanation.explained(document["trials"])],
        explanation=explanation,
        host=host,
        percentiles=list(PERCENTILES),
        support=SUPPORT,
        metrics=METRICS,
        warnings=[*(compared.warnings if compared else ()), *_warnings(sections, runs)],
        episodes=_episodes(runs),
        css=Markup(_asset("report.css") + cause_styles()),  # noqa: S704 our own text
        script=Markup(_asset("report.js")),  # noqa: S704 our own file
        vega=Markup(javascript() if sections else ""),  # noqa: S704 a library, "</script" escaped
        data=_json(
            {
                "themes": {"light": LIGHT, "dark": DARK},
                "specs": {d.id: d.spec for s in sections for d in s.figures},
            }
        ),
    )


def _asset(name: str) -> str:
    return resources.files("taut.report").joinpath("templates", name).read_text(encoding="utf-8")


def _json(document: object) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 escaped above


def _run(run: RunDirectory, document: Mapping[str, Any]) -> dict[str, Any]:
    manifest = _manifest(run)
    return {
        "name": run.path.resolve().name,
        # A number and its unit stay on one line.
        "verdict": re.sub(r"(\d) (?=[µmn]?s\b|%)", "\\1\u00a0", document["verdict"]),
        "trials": document["trials"],
        "failed": [t for t in document["trials"] if t["status"] != "whole"],
        "threshold": document["episode_threshold"],
        "conditions": conditions_of(manifest, document["trials"]),
        "audit": manifest.get("audit"),
        "published": _published(run),
    }


def _manifest(run: RunDirectory) -> dict[str, Any]:
    return run.manifest() if (run.path / "manifest.json").is_file() else {}


def _published(run: RunDirectory) -> list[dict[str, Any]]:
    """Tables of published beside measured, where `taut reproduce` left some (reproduce/)."""
    path = run.path / "published.json"
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []


def _warnings(sections: Sequence[Section], runs: Sequence[AnalysedRun]) -> list[str]:
    found = [
        f"{device.label} at {load_words(device.row)}: {flag}"
        for section in sections
        for device in section.scene.devices
        for flag in cells.flags(device.row)
    ]
    found += _empty_variants(runs)
    for run, document in runs:
        found += host.warnings(_manifest(run).get("audit"))
        if any((t["cores"] or {}).get("shared") for t in document["trials"]):
            found.append("generator and device shared cores: tails are not the device's alone")
        for trial in document["trials"]:
            found += [f"{trial['name']}: {w}" for w in trial["warnings"] if _is_trial_matter(w)]
    return list(dict.fromkeys(found))


def _is_trial_matter(warning: str) -> bool:
    """Rate and void are said once for a variant, not again for each repetition."""
    return not warning.startswith(("rate:", "instrument-limited:"))


def _empty_variants(runs: Sequence[AnalysedRun]) -> list[str]:
    """Variants that have no row in any table, because no packet came back."""
    return [
        f"{row['dut']} at {load_words(row)}: no packet came back"
        for _, document in runs
        for row in document["variants"]
        if row["latency_ns"]["n"] == 0
    ]


def _episodes(runs: Sequence[AnalysedRun]) -> dict[str, Any]:
    """The longest episodes of all trials, and how many there were."""
    rows = [
        {**episode, "trial": trial["name"], "dut": trial["dut"]}
        for _, document in runs
        for trial in document["trials"]
        if trial.get("episodes")
        for episode in trial["episodes"]["worst"]
    ]
    rows.sort(key=lambda row: -int(row["duration_ns"]))
    blocks = [t["episodes"] for _, d in runs for t in d["trials"] if t.get("episodes")]
    return {
        "worst": rows[:_WORST_EPISODES],
        "n": sum(block["n"] for block in blocks),
        "loss_bursts": sum(block["loss_bursts"] for block in blocks),
    }
