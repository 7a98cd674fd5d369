"""The table of what each neighbour changes: a row for each figure, as the verdict judges it."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from made_documents import made_result
from taut.report.effects import COLUMNS, LEGEND, TITLE, print_effects, tables_of

NEIGHBOURS = (None, "cache", "memory", "disk", "network")


def results(n: int):
    for repetition in range(1, n + 1):
        for i, neighbour in enumerate(NEIGHBOURS):
            p50 = 1_000 + 100 * i + repetition
            yield made_result(
                name=f"{repetition:02d}{i}",
                status="whole",
                neighbour=neighbour,
                repetition=repetition,
                index=10 * repetition + i,
                latency_without_void_ns={"n": 100_000, "p50": p50, "p99": p50, "p99.9": 9 * p50},
            )


def runs(analysed, n: int):
    run, analysis = analysed
    return [(run, replace(analysis, trials=tuple(results(n))))]


def test_each_neighbour_has_its_median_and_tail_with_the_interval(analysed):
    [(title, rows)] = tables_of(runs(analysed, 11))

    assert title == "eager, 100 kpkt/s, 64 B"
    assert [row[:2] for row in rows] == [
        [f"{name} beside idle", figure]
        for name in ("cache", "memory", "disk", "network")
        for figure in ("median", "p99.9")
    ]
    assert rows[0][2:4] == ["1.01 µs", "1.11 µs"]
    assert all("times longer, 95 % interval" in row[4] for row in rows)


def test_few_runs_claim_nothing(analysed):
    [(_, rows)] = tables_of(runs(analysed, 2))

    assert {row[4] for row in rows} == {"too few runs for a claim"}


def test_a_run_without_neighbours_has_no_table(analysed):
    out = StringIO()

    print_effects(Console(file=out), [analysed])

    assert tables_of([analysed]) == []
    assert out.getvalue() == ""


def test_it_fits_a_terminal(analysed):
    out = StringIO()

    print_effects(Console(file=out, width=80), runs(analysed, 11))

    said = out.getvalue()
    assert all(len(line) <= 80 for line in said.splitlines())
    assert f"{TITLE}: eager, 100 kpkt/s" in said
    assert all(column in said for column in COLUMNS)
    assert LEGEND.split(".")[0] in " ".join(said.split())


def test_runs_side_by_side_have_tables_of_their_own(analysed, tmp_path):
    [(run, analysis)] = runs(analysed, 2)
    other = replace(run, path=tmp_path / "other")

    tables = tables_of([(run, analysis), (other, analysis)])

    assert [title for title, _ in tables] == [
        "run, eager, 100 kpkt/s, 64 B",
        "other, eager, 100 kpkt/s, 64 B",
    ]
    assert len(tables[0][1]) == len(tables[1][1]) == len(tables_of([(run, analysis)])[0][1])
