"""The index of a folder of runs: one HTML file that opens offline, a row and a link a run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from taut.analysis.trust import split_trust, trust_rank
from taut.core.files import write_whole
from taut.report.found_runs import Found
from taut.report.page import asset, css, sentence, templates

_UNKNOWN_TIME = "unknown"


@dataclass(frozen=True)
class Row:
    """A run, in the words of the page."""

    run: str
    """Name of its folder."""
    link: str | None
    """Its report, from the index; None: there is none."""
    when: str
    what: str
    host: str
    result: Markup
    is_bad: bool
    trust: str
    why: Markup
    rank: int


def write_index(folder: Path, runs: Sequence[Found], out: Path) -> Path:
    """Write the index of runs that were found in a folder, in their order."""
    rows = [_row(run, out) for run in runs]
    out.parent.mkdir(parents=True, exist_ok=True)
    page = templates().get_template("index.html.j2")
    text = page.render(
        version=metadata.version("taut"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        title=folder.resolve().name,
        rows=rows,
        css=css() + asset("index.css"),
        script=Markup(asset("report.js") + asset("index.js")),  # noqa: S704 our own files
    )
    write_whole(out, text)
    return out


def _row(run: Found, out: Path) -> Row:
    result, trust, why = split_trust(run.outcome)
    report = Path(run.run) / "report.html"
    # A link, so with slashes and without what else a name of a folder may have in it.
    link = quote(os.fsencode(os.path.relpath(report.resolve(), out.parent.resolve())))
    return Row(
        run=Path(run.run).name,
        link=link if report.is_file() else None,
        when=_utc(run.started_utc),
        what=f"{run.name}: {', '.join(run.devices)}" if run.devices else run.name,
        host=run.host,
        result=sentence(result),
        is_bad=run.damage is not None or trust.startswith("Do not"),
        trust=trust,
        why=sentence(why),
        rank=trust_rank(trust),
    )


def _utc(started_utc: str) -> str:
    """Give the time as it is sorted, too; runs of several machines may be beside each other."""
    if not started_utc:
        return _UNKNOWN_TIME
    return f"{datetime.fromisoformat(started_utc).astimezone(UTC):%Y-%m-%d %H:%M}"
