"""What `taut trim` prints: the numbers that the report's page has, too."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from taut.cli.trim_words import print_trim
from taut.records.documents.json_form import parse
from taut.records.documents.trim import TrimDocument


@pytest.mark.parametrize(
    ("before", "after", "ratio"),
    [(10_000, 9_996, "0.9996"), (100, 123_400, "1234"), (2_000, 1_000, "0.50"), (None, 900, "–")],
)
def test_a_ratio_has_the_digits_of_the_page(before: int | None, after: int, ratio: str) -> None:
    cell = {"cell": "eager", "before": before, "after": after}
    lists = {name: [] for name in ("causes", "remedies", "notes", "kept")}
    words = dict.fromkeys(("sentence", "cores", "figure", "method"), "made")
    nothing = dict.fromkeys(("effect", "effect_with_void", "confirmed"))
    more = {"verdict": "helps", "target": "p99", "in_force": False, "took_s": 1.0}
    parts = {"cells": [cell], **lists, **words, **nothing, **more}
    document = parse(TrimDocument, parts, "made")
    out = io.StringIO()

    print_trim(document, Console(file=out, width=80), Path(), is_dry=False)

    [row] = [line for line in out.getvalue().splitlines() if line.startswith("eager")]
    assert row.split()[-1] == ratio
