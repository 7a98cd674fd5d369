"""The published table is the data's, and the comparison of captures tells yes from no."""

import json
from pathlib import Path
from typing import Any

import pytest

from made_documents import made_variant
from taut.reproduce.experiment import Section
from taut.reproduce.hipnet21 import HIPNET21
from taut.reproduce.hipnet21.published import FIGURES, PUBLISHED_NS, PUBLISHED_PACKETS

DATA = Path(__file__).parents[3] / "shared/data/hipnet21"


def row(pps, values, **changes):
    latency = dict(zip(FIGURES, values, strict=True)) | {"n": 290_000, "mean": 3179.8}
    return {
        "dut": "dpdk-l2fwd-hw",
        "driver": "capture",
        "asked_pps": float(pps),
        "sent": PUBLISHED_PACKETS.get(pps, 30 * pps),
        "warm_up": {"sent": 0, "lost": 0},
        "lost": 0,
        "latency_ns": latency,
        "latency_without_void_ns": dict(latency),
        "unsupported_percentiles": [],
        **changes,
    }


def compare(rows: list[dict[str, Any]]) -> list[Section]:
    """Published beside variants with these keys."""
    return HIPNET21.compare([made_variant(**row) for row in rows])


def as_published(**changes):
    return [row(pps, values, **changes) for pps, values in PUBLISHED_NS.items()]


def answers(section):
    return {line[0].split(":")[0]: line[-1] for line in section.rows}


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/hipnet21")
def test_the_table_is_the_published_one():
    published = json.loads((DATA / "published.json").read_text())

    assert tuple(published["columns"]) == FIGURES
    table = {int(pps): entry for pps, entry in published["dpdk-l2fwd-hw-filtered"].items()}
    assert {pps: tuple(entry["v"]) for pps, entry in table.items()} == PUBLISHED_NS
    assert {pps: entry["pre"] for pps, entry in table.items()} == PUBLISHED_PACKETS


def test_captures_like_the_papers_have_every_number_and_the_shape():
    table, shape = compare(as_published())

    assert set(answers(shape).values()) == {"yes"}
    assert ("every number is the published one", "12 of 12 rates", "12 of 12 rates", "yes") in (
        shape.rows
    )
    assert ("3.2 µs / 3.4 µs / 4.1 µs") in shape.rows[0]
    differs = [line for line in table.rows if line[1] == "diff"]
    assert len(differs) == 12
    assert {cell for line in differs for cell in line[2:-1]} == {"="}
    assert "No captures" not in table.note
    assert "Snort" in table.note


def test_a_number_that_differs_is_named_and_counts():
    rows = as_published()
    rows[0]["latency_ns"] |= {"p99.99": 4_112}

    table, shape = compare(rows)

    assert table.rows[2][table.columns.index("p99.99")] == "+12"
    assert answers(shape)["every number is the published one"] == "no"
    assert answers(shape)["levels at 3.2, 3.4 and 4.1 µs at 10 kpkt/s"] == "yes"


def test_one_pair_is_compared_and_the_others_are_said_to_be_missing():
    table, shape = compare(as_published()[:1])

    assert [line[:3] for line in table.rows] == [
        ("10", "paper", "300000"),
        ("", "here", "300000"),
        ("", "diff", "="),
    ]
    assert "No captures were given for 20, 30, 40" in table.note
    assert answers(shape)["the median is flat over the rate"] == "not run"
    assert answers(shape)["every number is the published one"] == "not run"


def test_a_rate_that_was_not_published_is_measured_only():
    table, _ = compare([row(15_000, PUBLISHED_NS[10_000])])

    assert [line[:2] for line in table.rows] == [("15", "here")]


def test_other_captures_beside_the_published_ones_are_named_not_judged():
    other = row(10_000, [9_000] * len(FIGURES), dut="dpdk-l2fwd-vm", lost=5)

    table, shape = compare([other, *as_published()])

    assert "Without published numbers: dpdk-l2fwd-vm." in table.note
    assert set(answers(shape).values()) == {"yes"}


def test_captures_of_something_else_are_held_against_nothing():
    snort, vm = (
        [row(pps, [9_000] * len(FIGURES), dut=name) for pps in (10_000, 15_000)]
        for name in ("snort", "dpdk-l2fwd-vm")
    )

    *tables, shape = compare([*snort, *vm])

    assert [table.title for table in tables] == [
        "HiPNet 2021: captures of dpdk-l2fwd-vm",
        "HiPNet 2021: captures of snort",
    ]
    for table in tables:
        assert [line[:3] for line in table.rows] == [
            ("10", "here", "300000"),
            ("15", "here", "450000"),
        ]
    assert "No numbers are published for snort." in tables[1].note
    assert set(answers(shape).values()) == {"not run"}
    assert shape.outcome == (
        "HiPNet 2021 (no published numbers for dpdk-l2fwd-vm, snort): "
        f"none of its {len(shape.rows)} shapes could be judged"
    )


def test_captures_unlike_the_papers_say_so():
    rows = as_published()
    rows[-1] = row(120_000, (9_000, *PUBLISHED_NS[120_000][1:-1], 90_000), lost=3)

    shape = answers(compare(rows)[1])

    assert shape["the median is flat over the rate"] == "no"
    assert shape["max is at most 1.4 x the median"] == "no"
    assert shape["nothing is lost"] == "no"
