"""published.json: a published experiment beside what was measured, as tables of words."""

from dataclasses import dataclass
from pathlib import Path

from taut.records.documents.json_form import parse, read_json

PUBLISHED_FILE = "published.json"


@dataclass(frozen=True)
class PublishedTable:
    """One table of a reproduced paper beside what was measured here; rows as printed."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    outcome: str = ""
    """In words, how far the measured curves have the published shape; empty: not judged."""


def read_published_file(run: Path) -> tuple[PublishedTable, ...]:
    """Read the tables of a run; empty where it does not repeat a published experiment."""
    path = run / PUBLISHED_FILE
    if not path.is_file():
        return ()
    tables = read_json(path)
    return parse(_Tables, {"tables": tables}, str(path)).tables


@dataclass(frozen=True)
class _Tables:
    tables: tuple[PublishedTable, ...]
