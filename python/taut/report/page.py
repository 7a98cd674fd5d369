"""What every page is made of: templates, style, scripts, and the figures drawn in it."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from taut.records.documents.json_form import JsonObject
from taut.report import captures, cells
from taut.report.chart import javascript
from taut.report.palette import VARIABLES, resolve, style_sheet


class Captioned(Protocol):
    """The words of a figure."""

    @property
    def question(self) -> str:
        """What it answers: its caption."""

    @property
    def reading(self) -> str:
        """How to read it, and what is drawn and what is not."""


@dataclass(frozen=True)
class Drawn:
    """A figure of a page."""

    id: str
    figure: Captioned
    spec: JsonObject


def css() -> Markup:
    """Give the style sheet: the colours of both themes, and the rules."""
    return Markup(style_sheet() + asset("report.css"))  # noqa: S704 our own text


def assets(drawn: Sequence[Drawn]) -> dict[str, Markup]:
    """Give what a page's template puts into it: style, scripts, and its figures to draw."""
    return {
        "css": css(),
        "script": Markup(asset("report.js")),  # noqa: S704 our own file
        "vega": Markup(javascript() if drawn else ""),  # noqa: S704 a library, "</script" escaped
        "data": _json({d.id: resolve(d.spec, VARIABLES) for d in drawn}),
    }


@cache
def templates() -> Environment:
    """The templates; each is compiled once, however many reports a process writes."""
    environment = Environment(
        loader=PackageLoader("taut.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "time": _time,
        "count": cells.count,
        "commands": sentence,
        "slug": _slug,
        "class_row": captures.class_row,
        "content_rows": captures.content_rows,
        "open_words": captures.open_words,
        "position_words": captures.position_words,
    }
    return environment


def asset(name: str) -> str:
    """Give the text of a file that stands beside the templates."""
    return resources.files("taut.report").joinpath("templates", name).read_text(encoding="utf-8")


def _json(document: object) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 escaped above


def _time(ns: float | None) -> str:
    """A number stays with its unit."""
    return cells.time(ns).replace(" ", "\u00a0")


def sentence(text: str) -> Markup:
    """A number and its unit stay on one line; what stands between backticks is a command."""
    kept = re.sub(r"(\d) (?=[µmn]?s\b|%)", "\\1\u00a0", text)
    commands = re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(kept)))
    return Markup(commands)  # noqa: S704 escaped above


def _slug(words: str) -> str:
    """Give a heading's name in links."""
    return re.sub("[^a-z0-9]+", "-", words.lower()).strip("-")
