import io
from dataclasses import replace

import pytest
from rich.console import Console

from taut.records.documents.budget import Budget, BudgetColumn, BudgetPart
from taut.report.budget import RESIDUAL, TOGETHER
from taut.report.html import write_html
from taut.report.table import print_results

BUDGET = Budget(
    direction=0,
    every=4,
    n=25_000,
    without_all_stamps=2,
    lost={"hop 2": 3},
    resolution_ns=12.0,
    columns={"mean": BudgetColumn(25_000, 2_000.0, 0.0), "p99": BudgetColumn(51, 10_000.0, 0.0)},
    parts=(
        BudgetPart("generator to hop 1", "link", {"mean": 500.0, "p99": 500.0}),
        BudgetPart("hop 1", "element", {"mean": 1_500.0, "p99": 9_500.0}),
    ),
)


@pytest.fixture(scope="module")
def with_budget(analysed):
    run, analysis = analysed
    rows = [
        replace(row, budgets=(BUDGET,)) if row.called == "eager" else row
        for row in analysis.variants
    ]
    return run, replace(analysis, variants=tuple(rows))


def printed(analysed, width=100):
    out = io.StringIO()
    print_results([analysed], Console(file=out, width=width))
    return out.getvalue()


def test_terminal_has_each_part_with_its_share(with_budget):
    lines = printed(with_budget).splitlines()

    start = next(i for i, line in enumerate(lines) if line.startswith("Latency budget: eager, "))
    table = [" ".join(line.split()) for line in lines[start - 1 : start + 5]]
    assert table[0] == "packets were mean p99"
    assert table[2:] == [
        "generator to hop 1 500 ns 25 % 500 ns 5 %",
        "hop 1 1.50 µs 75 % 9.50 µs 95 %",
        f"{TOGETHER} 2 µs 10 µs",
        f"{RESIDUAL} 0 ns 0 ns",
    ]
    assert "1 packet in 4 stamped, 25,000 with all stamps; 2 without some; 3 lost: hop 2." in lines


def test_no_part_is_said_to_be_nothing_or_all_that_is_not(analysed):
    run, analysis = analysed
    parts = (
        BudgetPart("generator to hop 1", "link", {"mean": 4.0, "p99": 0.0}),
        BudgetPart("hop 1", "element", {"mean": 1_996.0, "p99": 10_000.0}),
    )
    budget = replace(BUDGET, parts=parts)
    rows = [
        replace(row, budgets=(budget,)) if row.called == "eager" else row
        for row in analysis.variants
    ]

    out = " ".join(printed((run, replace(analysis, variants=tuple(rows)))).split())

    assert "generator to hop 1 4 ns 0.2 % 0 ns 0 % hop 1 2.00 µs 99.8 % 10 µs 100 %" in out


@pytest.mark.parametrize("width", [80, 100, 160])
def test_fits_the_terminal(with_budget, width):
    assert max(map(len, printed(with_budget, width).splitlines())) <= width


def test_page_has_the_same_rows(with_budget, tmp_path):
    page = write_html([with_budget], tmp_path / "report.html").read_text()

    assert '<h2 id="latency-budget">Latency budget</h2>' in page
    assert '<th scope="row">hop 1</th><td class="num">1.50 µs  75 %</td>' in page
    assert '<a href="#latency-budget">' in page


def test_nothing_is_said_where_nothing_is_stamped(analysed, tmp_path):
    assert "Latency budget" not in printed(analysed)
    assert "latency-budget" not in write_html([analysed], tmp_path / "report.html").read_text()


def test_budget_that_is_out_of_order_is_not_shown(analysed):
    run, analysis = analysed
    wrong = replace(BUDGET, columns={}, parts=(), out_of_order=5, worst_ns=100)
    rows = tuple(replace(row, budgets=(wrong,)) for row in analysis.variants)

    assert "Latency budget" not in printed((run, replace(analysis, variants=rows)))
