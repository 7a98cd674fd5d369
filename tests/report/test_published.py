import io
from dataclasses import replace

import pytest
from rich.console import Console

from taut.records.documents.published import PublishedTable
from taut.report.published import outcome_words, print_published

TABLE = PublishedTable("PAPER: a table", ("device",), (("eager",),), "Of 2020.")
SHAPE = replace(TABLE, title="PAPER: the shape", outcome="PAPER: 7 of 7 shapes as published")


def printed(tables, *, details):
    out = io.StringIO()
    print_published(tables, Console(file=out, width=100), details=details)
    return out.getvalue()


def test_the_comparison_is_one_line_and_its_tables_are_details():
    assert printed([TABLE, SHAPE], details=False) == (
        "PAPER: 7 of 7 shapes as published (the tables: --details)\n"
    )


def test_details_print_every_table_with_its_note():
    text = printed([TABLE, SHAPE], details=True)

    assert text.index("7 of 7") < text.index("PAPER: a table") < text.index("PAPER: the shape")
    assert text.count("Of 2020.") == 2


@pytest.mark.parametrize("tables", [[], [TABLE]])
def test_where_nothing_was_judged_nothing_is_said(tables):
    assert outcome_words(tables) == ""
