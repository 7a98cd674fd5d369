"""Every plug-in of this Python, asked of the tables it wants to stand in, and printed."""

import json
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from taut.core.plugins import Family, Plugin, PluginWarning, groups
from taut.records.documents.json_form import plain
from taut.records.documents.plugins import PluginFound, PluginsDocument
from taut.report.paragraph import INDENT, print_paragraph


def list_plugins(*, as_json: bool) -> None:
    """Import them all and print what became of each."""
    document = find_plugins()
    if as_json:
        print(json.dumps(plain(document), indent=1))
    else:
        _print(document)


def find_plugins() -> PluginsDocument:
    """Ask every table of its plug-ins; what stands in none is listed, too."""
    # What is wrong is in the document.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        found = [row for kind, family in _families().items() for row in _of(kind, family)]
    return PluginsDocument(tuple(found + list(_without_table())))


def _families() -> Mapping[str, Family[Any]]:
    """Name the tables that plug-ins may add to; to import one imports its plug-ins."""
    from taut.analysis import metrics
    from taut.dut.drivers import DRIVERS
    from taut.explain import causes
    from taut.host import checks
    from taut.report import figures
    from taut.testbed.placements import PLACEMENTS

    return {
        "device": DRIVERS.family,
        "placement": PLACEMENTS.family,
        "metric": metrics.FAMILY,
        "cause": causes.FAMILY,
        "figure": figures.FAMILY,
        "check": checks.FAMILY,
    }


def _of(kind: str, family: Family[Any]) -> Iterator[PluginFound]:
    for standing in family.standings():
        yield _row(kind, standing.plugin, standing.why_not)


def _without_table() -> Iterator[PluginFound]:
    known = [family.group for family in _families().values()]
    for group, plugins in groups().items():
        if group not in known:
            why = f"taut has no table {group}; there are {', '.join(known)}"
            yield from (_row(group, plugin, why) for plugin in plugins)


def _row(kind: str, plugin: Plugin, why_not: str | None) -> PluginFound:
    return PluginFound(plugin.name, kind, plugin.package, plugin.version, plugin.target, why_not)


def _print(document: PluginsDocument) -> None:
    console = Console()
    if not document.plugins:
        print_paragraph(console, "no installed package adds anything to taut")
    for row in document.plugins:
        text = f"{row.kind} {row.name}: of {row.package} {row.version}"
        if row.why_not is None:
            print_paragraph(console, text, "", INDENT)
        else:
            print_paragraph(console, f"{text}; left out: {row.why_not}", "", INDENT, style="red")
