"""The spec is the paper's, the comparison tells yes from no, and the page shows it all."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from made_documents import NOTHING, made_variant
from made_run import MadeTrial, MadeVariant, make_run
from taut.analysis.results import analyse_run
from taut.cli.reproduce_job import publishing
from taut.core.units import parse_duration_ns
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.records.rundir import RunDirectory
from taut.report.html import write_html
from taut.reproduce.experiment import Section
from taut.reproduce.in_states import TRIMMED
from taut.reproduce.nfvi5g import FRAMES, NFVI5G

STATES = ("as found", "trimmed")
DEVICES = {"skeleton_1": 10, "skeleton_2": 12, "router_1": 31, "router_2": 60}


def row(device: str, state: str, frame: str, us: float, **changes: Any) -> dict[str, Any]:
    p50 = round(us * 1000)
    latency = {"n": 1000, "min": p50 // 2, "mean": p50 * 1.1, "p50": p50, "max": p50 * 9}
    way = {**latency, "n": 500}
    return {
        "dut": device,
        "host": state,
        "traffic": "both",
        "frame": frame,
        "both": True,
        "received": 1000,
        "latency_ns": latency,
        "latency_without_void_ns": dict(latency),
        "directions": [direction(0, way), direction(1, {**way, "mean": p50 * 1.2})],
        **changes,
    }


def direction(number: int, latency: dict[str, Any]) -> dict[str, Any]:
    counts = dict.fromkeys(("due", "sent", "unsent", "matched", "lost", "void"), 0)
    doubt = {
        "unsupported_percentiles": [],
        "n_above": {},
        "confidence_intervals": {},
        "blocks": None,
        "loss_ratio_at_most": None,
    }
    return {"direction": number, **counts, **doubt, "latency_ns": {**NOTHING, **latency}}


def as_published() -> list[dict[str, Any]]:
    slower = {"as found": 1.0, "trimmed": 0.9}
    return [
        row(device, state, frame, us * slower[state])
        for (device, us), state, frame in product(DEVICES.items(), STATES, FRAMES)
    ]


def compare(rows: list[dict[str, Any]]) -> list[Section]:
    """Published beside variants with these keys."""
    return NFVI5G.compare([made_variant(**row) for row in rows])


def answers(shape: Section) -> dict[str, str]:
    return {line[0].split(":")[0]: line[-1] for line in shape.rows}


@pytest.mark.parametrize("quick", [True, False])
def test_the_spec_has_the_papers_loads_in_both_states(quick: bool) -> None:
    plan = make_plan(parse_spec(NFVI5G.spec_text(quick=quick)))

    found = {(t.device.name, t.host.name, str(t.frame)) for t in plan.trials}
    assert found >= set(product(DEVICES, STATES, FRAMES))
    assert all(t.traffic.both for t in plan.trials)
    nf = {d.name: d.options["nf"] for d in plan.spec.device}
    assert nf["skeleton_2"] == ["skeleton", "skeleton"]
    assert [word.partition(":")[0] for word in nf["router_2"]] == ["router", "router"]
    assert quick or {t.duration_ns for t in plan.trials} == {parse_duration_ns("5min")}


def test_without_root_the_host_is_measured_as_found() -> None:
    plan = make_plan(parse_spec(NFVI5G.spec_text(quick=True, without=[TRIMMED])))

    assert not plan.spec.changes_host
    assert {t.device.name for t in plan.trials} >= set(DEVICES)


def test_quick_is_quick() -> None:
    # Of the five minutes that are promised; the rest is for the analysis.
    assert make_plan(parse_spec(NFVI5G.spec_text(quick=True))).total_ns < 200e9


def test_the_soak_is_one_router_and_its_control_for_as_long_as_asked() -> None:
    plan = make_plan(parse_spec(NFVI5G.soak_text(parse_duration_ns("2h"))))

    assert {t.device.name for t in plan.trials} == {"router_1", "loopback_memif"}
    assert {(t.duration_ns, t.host.name, t.record) for t in plan.trials} == {
        (7_200_000_000_000, "trimmed", "tail")
    }


def test_a_run_like_the_paper_has_its_shape() -> None:
    table, shares, order, shape, missing = compare(as_published())

    assert shape.outcome == "NFVI for 5G: 5 of 5 shapes as published"
    assert table.rows[0] == (
        *("skeleton, one", "64 B", "9.5 to 13", "memif, bare"),
        *("5 / 11 / 90", "5 / 12 / 90", "4.5 / 9.9 / 81", "4.5 / 10.8 / 81"),
    )
    assert len(table.rows) == 16
    assert shares.rows[0][2] == "+21 / +53 / +72 µs"
    assert shares.rows[1][-2:] == ("+23.1 µs (+21)", "+20.8 µs (+18.9)")
    assert order.rows[0] == (
        "published, four loads",
        "0.2 %, 0.006 %, 11.8 %, 0.00012 %",
        "0",
    )
    assert order.rows[1] == ("64 B", "0 of 4,000", "0 of 4,000")
    assert missing.rows[1][:2] == ("virtual machines", "not part of this run")


def test_a_run_unlike_the_paper_says_so() -> None:
    rows = as_published()
    for changed in rows:
        if changed["dut"].startswith("skeleton"):
            changed["latency_without_void_ns"] |= {
                "p50": 300_000 if changed["frame"] == "64" else 100_000
            }
        if changed["host"] == TRIMMED:
            changed["out_of_sequence"] = 118
            changed["latency_without_void_ns"] |= {"max": 10**9}

    *_, order, shape, _ = compare(rows)

    assert set(answers(shape).values()) == {"no"}
    assert order.rows[1][1:] == ("0 of 4,000", "472 of 4,000, 12 %")


def test_what_was_not_run_is_not_judged() -> None:
    table, shares, order, shape, _ = compare([])

    assert set(answers(shape).values()) == {"not run"}
    cells = [c for line in table.rows for c in line[4:]] + [
        c for r in shares.rows[1:] for c in r[3:]
    ]
    assert {*cells, *order.rows[1][1:]} == {"not run"}


def test_stalls_of_the_instrument_do_not_decide() -> None:
    rows = as_published()
    rows[0]["latency_ns"] |= {"p50": 10**9, "max": 10**10}

    assert set(answers(compare(rows)[3]).values()) == {"yes"}


def test_the_soak_stands_beside_the_published_one_and_its_control() -> None:
    rows = [
        row("loopback_memif", TRIMMED, "64", 1, traffic="soak", driver="loopback", is_floor=True),
        row("router_1", TRIMMED, "64", 3, traffic="soak"),
    ]

    [soak] = compare(rows)

    assert soak.rows[0] == ("published, 2 h", "316 µs", "", "")
    assert soak.rows[3] == ("router_1, trimmed", "27 µs", "27 µs", "0 of 10,000")
    assert soak.rows[4][0] == "no device, the control"


def test_a_made_run_has_it_all_on_its_page(tmp_path: Path) -> None:
    way = MadeTrial(n_packets=3_000, n_cold=100, device_stall=None, generator_gap=None)
    trials = {
        device: replace(way, base_ns=ns, back=replace(way, base_ns=ns))
        for device, ns in (("skeleton_1", 500), ("router_1", 1_500))
    }
    made = [
        MadeVariant(device, "taut_forward", trial, host=state)
        for state, (device, trial) in product(STATES, trials.items())
    ]
    run = RunDirectory(make_run(tmp_path / "run", tuple(made), repetitions=1))
    analysis = analyse_run(run)

    publishing(NFVI5G)(run, analysis)

    shape = json.loads((run.path / "published.json").read_text())[3]
    judged = {line[0]: line[2:] for line in shape["rows"]}
    assert judged["the router takes longer than the skeleton"] == ["2 of 2", "yes"]
    assert judged["two in a chain take longer than one"] == ["cannot be judged", "not run"]
    page = write_html([(run, analysis)], run.path / "report.html").read_text(encoding="utf-8")
    for words in ("NFVI for 5G: one way", "router less skeleton, one", "virtual machines"):
        assert words in page
