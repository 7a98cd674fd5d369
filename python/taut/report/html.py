"""The report: one HTML file that opens offline; where asked, every figure as SVG and PNG too."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from markupsafe import Markup

from taut.analysis.compare import Comparison
from taut.analysis.judging import Judged, judge_run, required_by
from taut.analysis.load import load_of, loads_in_order
from taut.analysis.metrics import METRICS
from taut.analysis.pairing import AnalysedRun
from taut.analysis.trial_names import headings
from taut.core.errors import InputError
from taut.core.files import write_whole
from taut.core.percentiles import SUPPORT
from taut.core.timings import stage
from taut.records.documents.audit import AuditDocument
from taut.records.documents.manifest import Manifest
from taut.records.documents.published import PublishedTable
from taut.records.documents.results import (
    Analysis,
    EpisodeOfTrial,
    EpisodeThreshold,
    TrialResult,
)
from taut.records.documents.soak import SOAK_FILE
from taut.records.rundir import RunDirectory
from taut.report import (
    budget,
    captures,
    cells,
    comparison,
    effects,
    explanation,
    host,
    neighbours,
    offenders,
    requirements,
    rfc,
    search,
    soak,
    trim,
)
from taut.report.chart import as_spec, write_images
from taut.report.conditions import Conditions, conditions_of
from taut.report.figures import FIGURES
from taut.report.page import Drawn, assets, sentence, templates
from taut.report.palette import css_name
from taut.report.published import outcome_words, read_published
from taut.report.run_names import letters, run_names, trial_names
from taut.report.run_warnings import Warned, folded, lines_of, warnings_of
from taut.report.scene import Scene, make_scenes

# Loads after the first only have these figures, folded: the file must stay small.
_FIGURES_OF_OTHER_LOADS = ("trimmed", "improvement", "percentiles", "tail_by_cause", "histogram")
_WORST_EPISODES = 20


@dataclass(frozen=True)
class Section:
    """One load: its table rows and figures."""

    scene: Scene
    figures: Sequence[Drawn]


def write_html(
    runs: Sequence[AnalysedRun],
    out: Path,
    compared: Comparison | None = None,
    *,
    images: bool = False,
) -> Path:
    """Write the report of analysed runs to `out`; with `images` also figures/ beside it.

    With `compared` it opens with what the comparison of two runs shows.
    """
    names = letters(runs)
    found = [_read(run, search.read_search) for run, _ in runs]
    variants = [
        row
        for (run, analysis), (searched, _) in zip(runs, found, strict=True)
        for row in search.shown_variants(
            analysis.variants,
            search.shown_trials(searched) | rfc.shown_trials(_read(run, rfc.read_rfc)[0]),
        )
    ]
    pairs = compared.pairs if compared else ()
    # What is claimed is shown, also at loads that a search only passed through.
    loads = loads_in_order(variants)
    loads += [of for of in loads_in_order([pair.a for pair in pairs]) if of not in loads]
    scenes = [
        replace(scene, pairs=[pair for pair in pairs if load_of(pair.a) == scene.load])
        for scene in make_scenes(runs, loads, names)
    ]
    searches = [
        replace(one, device=f"{one.device} ({name})") if len(runs) > 1 else one
        for (searched, _), name in zip(found, names, strict=True)
        if searched
        for one in search.devices_of(searched)
    ]
    scenes[:1] = [replace(scene, searches=searches) for scene in scenes[:1]]
    sections = [_section(scene, is_main=i == 0, number=i) for i, scene in enumerate(scenes)]
    out.parent.mkdir(parents=True, exist_ok=True)
    if images:
        with stage("images"):
            specs = {d.id: d.spec for s in sections for d in s.figures}
            write_images(specs, out.parent / "figures")
    with stage("page"):
        write_whole(out, _page(runs, names, sections, compared, images=images))
    return out


@stage("figures")
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


def _page(
    runs: Sequence[AnalysedRun],
    names: Sequence[str],
    sections: Sequence[Section],
    compared: Comparison | None,
    *,
    images: bool,
) -> str:
    folders = run_names(runs)
    shown = [_run(*run, *named) for run, *named in zip(runs, names, folders, strict=True)]
    of_trials = trial_names(runs, names)
    left, unreadable = _left_by_commands(shown)
    others = [*unreadable, *(compared.warnings if compared else ()), *_alike(sections)]
    warnings = _warnings(sections, runs, names, others)
    page = templates().get_template("report.html.j2")
    return page.render(
        version=metadata.version("taut"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        title=", ".join(folders),
        contents=[],  # filled by the headings
        runs=shown,
        trim_words=trim,
        requirements=requirements,
        search_words=search,
        soak_words=soak,
        rfc_words=rfc,
        sections=sections,
        compared=compared,
        images=images,
        comparison=comparison,
        cells=cells,
        effects=effects.tables_of(runs),
        effect_words=effects,
        worked=neighbours.rows_of(runs),
        neighbour_words=neighbours,
        budgets=budget.budgets_of([section.scene for section in sections]),
        budget=budget,
        captures=captures.captures_of(runs, names),
        words=captures,
        traced=[
            trial
            for (_, analysis), headings_of_run in zip(runs, of_trials, strict=True)
            for trial in explanation.explained(analysis.trials, headings_of_run)
        ],
        explanation=explanation,
        offenders=offenders,
        host=host,
        support=SUPPORT,
        metrics=METRICS,
        warnings=lines_of(warnings),
        more_warnings=folded(warnings),
        episodes=_episodes(runs, of_trials),
        outcome_words=outcome_words,
        css_name=css_name,
        **left,
        **assets([d for section in sections for d in section.figures]),
    )


@dataclass(frozen=True)
class _Run:
    """One run, in the words of the page."""

    name: str
    path: Path
    folder: str
    verdict: Markup
    trials: Sequence[TrialResult]
    names: Mapping[str, str]
    """Names of its trials, by their folders."""
    failed: Sequence[TrialResult]
    threshold: EpisodeThreshold
    conditions: Conditions
    audit: AuditDocument | None
    published: Sequence[PublishedTable]
    judged: Sequence[Judged]
    """What its experiment requires, judged; empty where it requires nothing."""


def _run(run: RunDirectory, analysis: Analysis, name: str, folder: str) -> _Run:
    manifest = run.manifest_or_none() or Manifest()
    return _Run(
        name=name,
        path=run.path,
        folder=folder,
        verdict=sentence(analysis.verdict),
        trials=analysis.trials,
        names=headings(analysis.trials),
        failed=[t for t in analysis.trials if not t.is_whole],
        threshold=analysis.episode_threshold,
        conditions=conditions_of(manifest, analysis.trials),
        audit=manifest.audit,
        published=read_published(run),
        judged=_judged(run, analysis),
    )


def _judged(run: RunDirectory, analysis: Analysis) -> Sequence[Judged]:
    # A soak is judged by its rows, those of segments without records among them.
    asked = () if (run.path / SOAK_FILE).is_file() else required_by(run)
    return judge_run(run, analysis, asked) if asked and analysis.variants else ()


_Document = TypeVar("_Document")


def _read(
    run: _Run | RunDirectory, read: Callable[[Path], _Document | None]
) -> tuple[_Document | None, str]:
    """Give what a command left in a run, None if nothing; and why it cannot be read, or nothing."""
    try:
        return read(run.path), ""
    except InputError as error:
        # The run is measured and analysed all the same.
        return None, str(error)


def _left_by_commands(runs: Sequence[_Run]) -> tuple[dict[str, Sequence[object]], list[str]]:
    """Give documents of commands other than `run`, under the page's names; and what is damaged."""
    trims, no_trims = _read_all(runs, trim.read_trim)
    searches, no_searches = _read_all(runs, search.read_search)
    soaks, no_soaks = _read_all(runs, soak.read_soak)
    rfcs, no_rfcs = _read_all(runs, rfc.read_rfc)
    left: dict[str, Sequence[object]] = {"trims": trims, "searches": searches}
    left |= {"soaks": soaks, "rfcs": rfcs}
    return left, [*no_trims, *no_searches, *no_soaks, *no_rfcs]


def _read_all(
    runs: Sequence[_Run], read: Callable[[Path], _Document | None]
) -> tuple[list[tuple[_Run, _Document]], list[str]]:
    """Give what a command left in runs, each beside its run; and why some cannot be read."""
    found = [(run, *_read(run, read)) for run in runs]
    there = [(run, document) for run, document, _ in found if document is not None]
    return there, [why for _, _, why in found if why]


def _alike(sections: Sequence[Section]) -> list[str]:
    """Say so where more rows are drawn than there are colours."""
    colours = sections[0].scene.colours if sections else {}
    times = Counter(colours.values())
    alike = sum(times[token] > 1 for token in colours.values())
    if not alike:
        return []
    return [
        f"There are fewer colours than rows: {alike} of {len(colours)} share one with another in "
        "the figures, which name a mark where the pointer rests on it."
    ]


def _warnings(
    sections: Sequence[Section],
    runs: Sequence[AnalysedRun],
    names: Sequence[str],
    others: Sequence[str],
) -> list[Warned]:
    """Give all warnings, first `others`, which come from no trial."""
    devices = [device for section in sections for device in section.scene.devices]
    return [*(Warned(line) for line in others), *warnings_of(devices, runs, names)]


@dataclass(frozen=True)
class _Listed:
    """An episode, and the trial it is from."""

    trial: str
    episode: EpisodeOfTrial


@dataclass(frozen=True)
class _Episodes:
    """The longest episodes of all trials, and how many there were."""

    worst: Sequence[_Listed]
    n: int
    loss_bursts: int
    n_searched: int
    n_not_searched: int
    """Trials: without a record of every packet, or without a median, nothing is known."""


def _episodes(runs: Sequence[AnalysedRun], of_trials: Sequence[Mapping[str, str]]) -> _Episodes:
    of_all = [
        (names[trial.name], trial.figures.episodes)
        for (_, analysis), names in zip(runs, of_trials, strict=True)
        for trial in analysis.trials
        if trial.figures is not None
    ]
    found = [(name, episodes) for name, episodes in of_all if episodes is not None]
    rows = [_Listed(name, episode) for name, episodes in found for episode in episodes.worst]
    rows.sort(key=lambda row: -row.episode.duration_ns)
    return _Episodes(
        worst=rows[:_WORST_EPISODES],
        n=sum(episodes.n for _, episodes in found),
        loss_bursts=sum(episodes.loss_bursts for _, episodes in found),
        n_searched=len(found),
        n_not_searched=len(of_all) - len(found),
    )
