import io

import pytest
from rich.console import Console

from taut.report.table import print_results


def printed(analysed, width, *, terminal=False, report=None):
    out = io.StringIO()
    colours = "truecolor" if terminal else "auto"
    console = Console(file=out, width=width, force_terminal=terminal or None, color_system=colours)
    print_results([analysed], console, report)
    return out.getvalue()


def test_floor_is_the_first_row_of_each_load(analysed):
    lines = printed(analysed, 160).splitlines()

    header = next(i for i, line in enumerate(lines) if line.startswith("device"))
    loads = [
        i for i, line in enumerate(lines) if i > header and line.strip().endswith(" kpkt/s 64 B")
    ]
    assert len(loads) == 2
    assert all(lines[i + 1].startswith("floor") for i in loads)


@pytest.mark.parametrize("width", [80, 90, 100, 160])
def test_table_fits_the_terminal(analysed, width):
    lines = printed(analysed, width).splitlines()

    assert max(len(line) for line in lines) <= width
    header = next(line for line in lines if line.startswith("device"))
    assert not any("…" in line for line in lines)
    assert {"p50", "p99", "max", "lost"} <= set(header.split())


def test_unsupported_percentiles_are_marked_and_explained(analysed):
    text = printed(analysed, 160)

    row = next(line for line in text.splitlines() if line.startswith("eager"))
    assert "*" in row
    assert "* fewer than 10 packets above it" in text


def test_colour_only_on_a_terminal(analysed):
    assert "\x1b[" not in printed(analysed, 120)
    assert "\x1b[" in printed(analysed, 120, terminal=True)


def test_failure_is_said_and_the_report_is_the_last_line(analysed, tmp_path):
    path = tmp_path / ("long" * 40) / "report.html"

    lines = printed(analysed, 80, report=path).splitlines()

    assert lines[-1] == f"Report: {path}"
    assert "killed by SIGSEGV" in " ".join(" ".join(lines).split())
