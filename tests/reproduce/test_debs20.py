"""The published experiment is a valid one, and its comparison tells yes from no."""

from typing import Any

import pytest

from made_documents import made_variant
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.reproduce import EXPERIMENTS
from taut.reproduce.debs20 import DEBS20, FORWARDERS, SWEPT
from taut.reproduce.experiment import Section, micros


def row(dut: str, pps: float, p50_us: float, p90_us: float, **changes: Any) -> dict[str, Any]:
    latency = {
        "n": 1000,
        "p50": p50_us * 1000,
        "p90": p90_us * 1000,
        "p99": p90_us * 1100,
        "mean": p50_us * 1000.0,
        "min": p50_us * 500,
        "max": p90_us * 2000,
        "stdev": 10.0,
    }
    return {
        "dut": dut,
        "asked_pps": pps,
        "offered_pps": pps,
        "achieved_pps": pps,
        "loss_ratio": 0.0,
        "latency_ns": latency,
        "latency_without_void_ns": dict(latency),
        **changes,
    }


def compare(rows: list[dict[str, Any]]) -> list[Section]:
    """Published beside variants with these keys."""
    return DEBS20.compare([made_variant(**row) for row in rows])


def as_published() -> list[dict[str, Any]]:
    return [
        row("eager", 100_000, 1, 2),
        row("linux_bridge", 100_000, 15, 20),
        row("buffered", 100_000, 52, 92),
        row("buffered_no_timer", 100_000, 150, 280),
        row("l2fwd", 100_000, 50, 90),
        row("eager", 10_000, 1, 2),
        row("buffered", 10_000, 100, 100),
        row("single", 8_000_000, 30, 60, achieved_pps=4e6),
        row("buffered", 8_000_000, 30, 60, achieved_pps=7e6),
    ]


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("without", [[], ["l2fwd"], ["linux_bridge"]])
def test_the_spec_is_valid_and_has_the_papers_forwarders(quick: bool, without: list[str]):
    plan = make_plan(parse_spec(DEBS20.spec_text(quick=quick, without=without)))

    main = {t.device.name for t in plan.trials if t.rate == "100kpps"}
    wanted = {f.device for f in FORWARDERS} - set(without)
    assert wanted <= main
    links = {"memif"} if "linux_bridge" in without else {"memif", "veth"}
    assert {t.device.link for t in plan.trials} == links
    assert {f"loopback_{link}" for link in links} <= main
    assert {t.device.name for t in plan.trials if t.rate == "10kpps"} >= set(SWEPT) - set(without)
    assert {t.traffic.name for t in plan.trials} == {"constant"}


def test_who_is_not_root_measures_what_goes_over_memory():
    without = [*DEBS20.optional_devices(), *DEBS20.optional_places(), *DEBS20.states]

    plan = make_plan(parse_spec(DEBS20.spec_text(quick=True, without=without)))

    assert {t.device.link for t in plan.trials} == {"memif"}


def test_quick_is_quick():
    plan = make_plan(parse_spec(DEBS20.spec_text(quick=True)))

    assert plan.total_ns < 120e9
    # What arming costs, the sweep does not pay.
    assert {t.rate for t in plan.trials if t.trace != "off"} == {"100kpps"}


def test_a_run_like_the_paper_has_its_shape():
    table, shape, sweep = compare(as_published())

    assert [r[-1] for r in shape.rows] == ["yes"] * 7
    assert shape.outcome == "DEBS 2020: 7 of 7 shapes as published"
    assert (table.outcome, sweep.outcome) == ("", "")
    assert table.rows[0][1] == "16.8 / 7.8 / 45 / 3.1"
    assert table.rows[0][-1] == "15"
    assert [r[0] for r in sweep.rows] == ["10 kpkt/s", "100 kpkt/s", "8 Mpkt/s"]
    assert "50 % sent" in sweep.rows[2][2]


def test_a_run_unlike_the_paper_says_so():
    rows = as_published()
    rows[2] = row("buffered", 100_000, 3, 5)

    _, shape, _ = compare(rows)

    assert shape.rows[0][-1] == "no"
    assert shape.rows[1][-1] == "no"
    assert "shapes as published, not: buffered over unbuffered: at least 5 x; the 100" in (
        shape.outcome
    )


def test_what_was_not_run_is_not_judged():
    table, shape, sweep = compare([])

    assert {r[-1] for r in shape.rows} == {"not run"}
    assert shape.outcome == "DEBS 2020: none of its 7 shapes could be judged"
    assert {r[2] for r in table.rows} == {"not run"}
    assert sweep.rows == ()


def test_stalls_of_the_instrument_do_not_decide():
    rows = as_published()
    rows[0]["latency_ns"]["p50"] = 1_000_000

    _, shape, _ = compare(rows)

    assert shape.rows[0][-1] == "yes"


def test_each_experiment_is_found_by_its_name():
    assert all(name == experiment.name for name, experiment in EXPERIMENTS.items())


@pytest.mark.parametrize(
    ("ns", "words"),
    [(303, "0.303"), (999_400, "999"), (999_700, "1000"), (12_345_678, "12346")],
)
def test_a_time_of_many_digits_is_written_in_full(ns: int, words: str) -> None:
    assert micros(ns) == words


def test_a_time_just_above_a_goal_is_not_written_as_the_goal() -> None:
    assert micros(100_400, 4) == "100.4"
